package outbox_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

// database starts a throw-away Postgres and migrates it. A program of yours
// connects to its own and runs `hooklatch migrate up` once.
func database(ctx context.Context) (*pgxpool.Pool, func()) {
	server, err := embedded.Start(ctx, embedded.Options{})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, server.URL("postgres"))
	if err != nil {
		log.Fatal(err)
	}
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := migrator.Up(ctx); err != nil {
		log.Fatal(err)
	}
	return pool, func() {
		pool.Close()
		_ = server.Stop(ctx)
	}
}

// A delivery that comes twice is accepted once.
func ExampleOutbox_Accept() {
	ctx := context.Background()
	pool, stop := database(ctx)
	defer stop()
	box, err := outbox.New(outbox.Options{Pool: pool})
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

// The dedup row and your own writes in one transaction of yours.
func ExampleOutbox_AcceptTx() {
	ctx := context.Background()
	pool, stop := database(ctx)
	defer stop()
	box, err := outbox.New(outbox.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Stop(ctx)
	if _, err := pool.Exec(ctx, `CREATE TABLE payments (invoice text)`); err != nil {
		log.Fatal(err)
	}

	delivery := outbox.Delivery{
		Source: "stripe", Provider: "stripe", Body: []byte(`{}`),
		Events: []outbox.Incoming{{ID: "evt_1", Type: "invoice.paid"}},
	}
	for range 3 {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			acceptance, err := box.AcceptTx(ctx, tx, delivery)
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

// An e-mail that is sent exactly if the order is committed, and once for each
// order number.
func ExampleOutbox_EnqueueTx() {
	ctx := context.Background()
	pool, stop := database(ctx)
	defer stop()
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
	effects, err := box.Ledger().Effects(ctx, ledger.EffectFilter{Destination: "crm"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(effects[0].Key, effects[0].State)
	// Output:
	// new: true
	// order-1001 pending
}
