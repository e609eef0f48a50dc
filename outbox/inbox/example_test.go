package inbox_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// start returns an outbox, and a function that stops it.
func start(ctx context.Context) (box *outbox.Outbox, stop func()) {
	pool, done := pgtest.Example(ctx)
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	return box, func() {
		if err := box.Stop(ctx); err != nil {
			log.Fatal(err)
		}
		done()
	}
}

// accept stores a delivery of the source shop.
func accept(ctx context.Context, box *outbox.Outbox, body string, guard *outbox.ReplayGuard, events ...outbox.Incoming) {
	delivery := outbox.Delivery{Source: "shop", Provider: "shopify", Body: []byte(body), Events: events, ReplayGuard: guard}
	if _, err := box.Accept(ctx, delivery); err != nil {
		log.Fatal(err)
	}
}

// event reads an event of the source shop.
func event(ctx context.Context, box *outbox.Outbox, id identity.EventID) *inbox.Event {
	e, err := box.Inbox().Event(ctx, identity.EventRef{Source: "shop", EventID: id})
	if err != nil {
		log.Fatal(err)
	}
	return e
}

// Payload returns only the event's own part of the body if the delivery has several events.
func ExampleInbox_Event() {
	ctx := context.Background()
	box, stop := start(ctx)
	defer stop()
	accept(ctx, box, `[{"order":1},{"order":2}]`, nil,
		outbox.Incoming{ID: "evt_1", Type: "order.paid", Item: "/0"},
		outbox.Incoming{ID: "evt_2", Type: "order.paid", Item: "/1"})

	e, err := box.Inbox().Event(ctx, identity.EventRef{Source: "shop", EventID: "evt_2"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Type, e.Outcome, string(e.Payload()))
	// Output:
	// order.paid received {"order":2}
}

// A replay dispatches an event once more and records the dispatch that it replaced.
func ExampleInbox_Replay() {
	ctx := context.Background()
	box, stop := start(ctx)
	defer stop()
	accept(ctx, box, `{"order":1}`, nil, outbox.Incoming{ID: "evt_1", Type: "order.paid"})
	e := event(ctx, box, "evt_1")
	if _, err := box.Dispatch(ctx, outbox.Dispatch{Event: e}); err != nil { // no route matched
		log.Fatal(err)
	}

	by := ledger.Operator{Who: "ann", Via: "cli", Reason: "the route is there now"}
	replayed, err := box.Inbox().Replay(ctx, e.EventRef, by, inbox.ReplayOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(event(ctx, box, "evt_1").Outcome, "in generation", replayed.Generation)
	replays, err := box.Inbox().EventReplays(ctx, e.EventRef)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("was", replays[0].PreviousOutcome, "until", replays[0].By, "said:", replays[0].Reason)
	// Output:
	// received in generation 2
	// was skipped until ann said: the route is there now
}

// An event whose signature was seen before, under another id, is held until an operator
// releases it.
func ExampleInbox_Release() {
	ctx := context.Background()
	box, stop := start(ctx)
	defer stop()
	guard := &outbox.ReplayGuard{Proof: []byte("signature"), Action: outbox.ReplayHold}
	accept(ctx, box, `{"order":1}`, guard, outbox.Incoming{ID: "evt_1", Type: "order.paid"})
	accept(ctx, box, `{"order":1}`, guard, outbox.Incoming{ID: "evt_2", Type: "order.paid"})
	fmt.Println(event(ctx, box, "evt_2").Outcome)

	by := ledger.Operator{Who: "ann", Via: "console", Reason: "the shop sent it on purpose"}
	if err := box.Inbox().Release(ctx, identity.EventRef{Source: "shop", EventID: "evt_2"}, by); err != nil {
		log.Fatal(err)
	}
	fmt.Println(event(ctx, box, "evt_2").Outcome)
	// Output:
	// held
	// received
}
