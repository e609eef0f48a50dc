package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// stripe returns a delivery of one event.
func stripe(id identity.EventID) outbox.Delivery {
	return outbox.Delivery{
		Source: "stripe", Provider: "stripe", Body: []byte(`{"amount":100}`),
		Events: []outbox.Incoming{{ID: id, Type: "invoice.paid"}},
	}
}

// accepted returns an event of the source stripe that waits for its dispatch.
func accepted(ctx context.Context, box *outbox.Outbox, id identity.EventID) *inbox.Event {
	acceptance, err := box.Accept(ctx, stripe(id))
	if err != nil {
		log.Fatal(err)
	}
	event, err := box.Inbox().Event(ctx, acceptance.Events[0].EventRef)
	if err != nil {
		log.Fatal(err)
	}
	return event
}

// An outbox belongs to one process. Before the process exits, it calls Stop, which refuses new work
// and waits until submitted work is committed.
func ExampleNew() {
	ctx := context.Background()
	pool, done := pgtest.Example(ctx) // your pool's database is migrated by `hooklatch migrate up`
	defer done()
	box, err := outbox.New(outbox.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stop:", box.Stop(ctx))

	_, err = box.Accept(ctx, stripe("evt_1"))
	fmt.Println("closed:", errors.Is(err, outbox.ErrClosed))
	// Output:
	// stop: <nil>
	// closed: true
}

// A delivery that is received twice is accepted once.
func ExampleOutbox_Accept() {
	ctx := context.Background()
	pool, done := pgtest.Example(ctx)
	defer done()
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Stop(ctx)

	delivery := outbox.Delivery{
		Source:      "stripe",
		Provider:    "stripe",
		ContentType: "application/json",
		Body:        []byte(`{"id":"evt_1","type":"invoice.paid"}`),
		Events:      []outbox.Incoming{{ID: "evt_1", Type: "invoice.paid"}},
	}
	for range 2 {
		acceptance, err := box.Accept(ctx, delivery)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(acceptance.Events[0].EventID, acceptance.Events[0].Status)
	}
	// Output:
	// evt_1 accepted
	// evt_1 duplicate
}

// The dedup row and your own writes share your transaction.
func ExampleOutbox_AcceptTx() {
	ctx := context.Background()
	pool, done := pgtest.Example(ctx)
	defer done()
	box, err := outbox.New(outbox.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Stop(ctx)
	if _, err := pool.Exec(ctx, `CREATE TABLE payments (invoice text)`); err != nil {
		log.Fatal(err)
	}

	for range 3 {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			acceptance, err := box.AcceptTx(ctx, tx, stripe("evt_1"))
			if err != nil || acceptance.New() == 0 {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO payments VALUES ('in_1')`)
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	var payments int
	if err := pool.QueryRow(ctx, `SELECT count(*) FROM payments`).Scan(&payments); err != nil {
		log.Fatal(err)
	}
	fmt.Println("payments:", payments)
	// Output:
	// payments: 1
}

// The call to the CRM is enqueued if and only if the order is committed, and once for each order
// number.
func ExampleOutbox_EnqueueTx() {
	ctx := context.Background()
	pool, done := pgtest.Example(ctx)
	defer done()
	box, err := outbox.New(outbox.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Stop(ctx)
	// Workers register the destinations of their configuration when they start.
	if err := box.Fleet().RegisterDestinations(ctx, []fleet.Destination{{Name: "crm", Kind: "http", Queue: "dst_crm"}}); err != nil {
		log.Fatal(err)
	}

	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// ... your own writes with tx ...
		isNew, err := box.EnqueueTx(ctx, tx, outbox.Enqueue{
			Key:         "order-1001",
			Destination: "crm",
			Request:     ledger.Request{ContentType: "application/json", Body: []byte(`{"order":1001}`)},
		})
		fmt.Println("new:", isNew)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	effects, err := box.Finder().Effects(ctx, find.Effects{Destination: "crm"}, find.Beginning, 50)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(effects.Rows[0].Key, effects.Rows[0].State)
	// Output:
	// new: true
	// order-1001 pending
}

// Dispatching an event commits its effects once, however often Dispatch is called.
func ExampleOutbox_Dispatch() {
	ctx := context.Background()
	pool, done := pgtest.Example(ctx)
	defer done()
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Stop(ctx)
	if err := box.Fleet().RegisterDestinations(ctx, []fleet.Destination{{Name: "crm", Kind: "http", Queue: "dst_crm"}}); err != nil {
		log.Fatal(err)
	}

	event := accepted(ctx, box, "evt_1")
	effect := ledger.NewEffect{
		EffectID:    identity.EffectID{Scope: identity.ScopeOfRoute("stripe", "paid"), Key: "in_1", Generation: event.EffectGeneration},
		Route:       "paid",
		Destination: "crm",
		Queue:       "dst_crm",
		Request:     ledger.Request{Method: "POST", FromDelivery: true},
	}
	for range 2 {
		dispatched, err := box.Dispatch(ctx, outbox.Dispatch{Event: event, Effects: []ledger.NewEffect{effect}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("fenced:", dispatched.Fenced, "created:", dispatched.Created)
	}
	// Output:
	// fenced: true created: [route:stripe:paid/in_1]
	// fenced: false created: []
}

// A handler's writes are applied once for each event.
func ExampleOutbox_DispatchTx() {
	ctx := context.Background()
	pool, done := pgtest.Example(ctx)
	defer done()
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Stop(ctx)

	event := accepted(ctx, box, "evt_1")
	for range 2 {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := box.DispatchTx(ctx, tx, outbox.Dispatch{Event: event}, func(context.Context, pgx.Tx) error {
				fmt.Println("handling", event.EventID, string(event.Payload()))
				return nil
			})
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// handling evt_1 {"amount":100}
}
