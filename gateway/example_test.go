package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// This gateway receives the deliveries for one Stripe endpoint. In your own program, Accepter
// is the *outbox.Outbox of your database; this example uses an Accepter in memory.
func ExampleNew() {
	key := secret.New("whsec_of_the_endpoint")
	stripe, err := catalog.New("stripe", provider.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := gateway.New(gateway.Options{
		Accepter: &memory{first: make(map[identity.EventRef]time.Time)},
		Sources:  []gateway.Source{{Name: "stripe", Provider: stripe, Secrets: []gateway.Secret{{Value: key}}}},
		Listen:   "127.0.0.1:0",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := g.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = g.Stop(context.Background()) }()

	// Stripe's side: sign a delivery, and send it twice.
	delivery := stripe.Sample("invoice.paid", "evt_1", time.Now())
	if err := stripe.Sign(delivery, key, time.Now()); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		fmt.Println(deliver("http://"+g.Addr().String()+"/webhooks/stripe", delivery))
	}
	// Output:
	// 200 {"status":"accepted","events":1,"duplicates":0}
	// 200 {"status":"duplicate","events":1,"duplicates":1}
}

func deliver(url string, delivery *provider.Request) string {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(delivery.Body))
	if err != nil {
		return err.Error()
	}
	r.Header, r.Close = delivery.Header, true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(body))
}
