package destination_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
)

func ExampleNewHTTP() {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		fmt.Println("key", r.Header.Get("Idempotency-Key"), "attempt", r.Header.Get("Hooklatch-Attempt"))
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "queued")
	}))
	defer receiver.Close()

	app, err := destination.NewHTTP(destination.HTTPOptions{
		Name: "app",
		URL:  receiver.URL + "/hooks",
		Sign: &destination.Sign{StandardWebhooks: []secret.Value{secret.New("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer app.Close()

	id := identity.EffectID{Scope: identity.ScopeOfRoute("stripe", "everything"), Key: "evt_1", Generation: 1}
	outcome := app.Send(context.Background(), &ledger.Effect{
		EffectID:       id,
		IdempotencyKey: id.IdempotencyKey(),
		Attempt:        1,
		Request:        ledger.Request{ContentType: "application/json", Body: []byte(`{"paid":true}`)},
	})
	fmt.Println(outcome.Verdict == ledger.VerdictDone, outcome.Status, outcome.Excerpt)
	// Output:
	// POST /hooks application/json
	// key hl_f0462be3d1a9788e6326a8dd373ca6dd45dc0bea attempt 1
	// true 202 queued
}

func ExampleSchedule() {
	schedule := destination.Schedule{Initial: time.Second, Max: 10 * time.Second, MaxAttempts: 6, Jitter: -1}
	for attempt := 1; !schedule.Exhausted(attempt); attempt++ {
		fmt.Println("after attempt", attempt, "wait", schedule.Delay(attempt, 0, nil))
	}
	fmt.Println("or as the receiver says:", schedule.Delay(1, time.Minute, nil))
	// Output:
	// after attempt 1 wait 1s
	// after attempt 2 wait 2s
	// after attempt 3 wait 4s
	// after attempt 4 wait 8s
	// after attempt 5 wait 10s
	// or as the receiver says: 1m0s
}

func ExampleMessage() {
	body, err := destination.Message{
		To: []string{"Ann <ann@example.org>"}, Subject: "Paid", Text: "Thank you.",
	}.Encode()
	fmt.Println(string(body), err)
	// Output:
	// {"to":["Ann <ann@example.org>"],"subject":"Paid","text":"Thank you."} <nil>
}
