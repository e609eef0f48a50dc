package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Options describe a sender that has no named provider.
func ExampleNew() {
	shop, err := catalog.New("hmac", provider.Options{
		Header:         "X-Shop-Signature",
		SignatureField: "v1",
		TimestampField: "t",
		Template:       "{ts}.{body}",
		EventID:        provider.EventID{Fields: []string{"/type", "/order/id"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	now, key := time.Now(), secret.New("s3cr3t")
	r := shop.Sample("order.paid", "o-1", now)
	if err := shop.Sign(r, key, now); err != nil {
		fmt.Println(err)
		return
	}
	verified, err := shop.Verify(context.Background(), r, []secret.Value{secret.New("the next one"), key}, now)
	fmt.Println("secret", verified.SecretIndex, err)
	events, err := shop.Events(r)
	fmt.Println(events[0].Type, len(events[0].ID), err)

	r.Body[0] ^= 1
	_, err = shop.Verify(context.Background(), r, []secret.Value{key}, now)
	if refused, ok := errors.AsType[*provider.VerifyError](err); ok {
		fmt.Println(refused.Reason)
	}
	// Output:
	// secret 1 <nil>
	// order.paid 71 <nil>
	// wrong_signature
}

func ExampleNew_wrongOption() {
	_, err := catalog.New("github", provider.Options{Tolerance: time.Minute})
	fmt.Println(err)
	// Output: tolerance: "1m0s" is not allowed: provider github accepts only dedup.ignore, event_id
}
