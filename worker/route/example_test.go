package route_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// paid returns an event as a worker loads it.
func paid() *inbox.Event {
	return &inbox.Event{
		EventRef:         identity.EventRef{Source: "stripe", EventID: "evt_1"},
		Type:             "invoice.paid",
		ReceivedAt:       time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		EffectGeneration: 1,
		ContentType:      "application/json",
		Body:             []byte(`{"id":"in_7","amount":1200}`),
	}
}

// app returns a destination in the form that routes need.
func app() route.Target {
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: "https://app.example.com/hooks"})
	if err != nil {
		log.Fatal(err)
	}
	return route.Target{Name: "app", Queue: "dst_app", Policy: ledger.AtLeastOnce, Sender: sender}
}

// A plan shows the effects that an event would have. It sends nothing and needs no database.
func ExampleTable_Plan() {
	table, err := route.Compile(route.Options{
		Routes: []route.Route{
			{Name: "all", From: []string{"*"}, To: "app"},
			{Name: "large", From: []string{"stripe"}, Types: []string{"invoice.*"}, When: "body.amount > 1000", Key: "body.id", To: "app"},
			{Name: "huge", From: []string{"stripe"}, When: "body.amount > 1000000", To: "app"},
		},
		Targets: []route.Target{app()},
	})
	if err != nil {
		log.Fatal(err)
	}
	effects, err := table.Plan(context.Background(), paid())
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range effects {
		fmt.Println(e.Route, e.Key, e.Destination)
	}
	// Output:
	// all evt_1 app
	// large in_7 app
}

// Every fault of every route is found before any event arrives.
func ExampleCheck() {
	fmt.Println(route.Check([]route.Route{
		{Name: "large", From: []string{"stripe"}, When: "event.type + 1", To: "app"},
		{Name: "lost", From: []string{"stripe"}, To: "nowhere"},
	}, []route.Target{app()}))
	// Output:
	// route "large": when: found no matching overload for '_+_' applied to '(string, int)' (line 1, column 12), in "event.type + 1"
	// route "lost": to: "nowhere" is not a destination; allowed: app
}

// The expression in a route's when can also select stored events.
func ExampleCompileCondition() {
	large, err := route.CompileCondition(context.Background(), `event.source == "stripe" && body.amount > 1000`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(large.By(paid()))
	// Output: true <nil>
}

// A key that does not vary combines many events into one effect.
func ExampleKeyWarnings() {
	for _, w := range route.KeyWarnings([]route.Route{{Name: "latest", From: []string{"stripe"}, Types: []string{"invoice.paid"}, Key: `"invoices"`, To: "app"}}) {
		fmt.Println(w)
	}
	// Output: route "latest": key: is the same for all events: only the first event has an effect, in "\"invoices\""
}
