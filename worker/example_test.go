package worker_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/embedded"
	"github.com/hooklatch/hooklatch/worker"
)

// A Go program handles events itself: what the handler writes with tx is
// committed once for each event, together with the record that it was handled.
func ExampleWorker_Handle() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	// A private Postgres for the example. Yours is wherever DATABASE_URL says.
	server, err := embedded.Start(ctx, embedded.Options{})
	check(err)
	defer func() { check(server.Stop(ctx)) }()
	pool, err := pgxpool.New(ctx, server.URL("postgres"))
	check(err)
	defer pool.Close()
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	check(err)
	_, err = migrator.Up(ctx)
	check(err)
	_, err = pool.Exec(ctx, `CREATE TABLE payments (invoice text PRIMARY KEY)`)
	check(err)

	box, err := outbox.New(outbox.Options{Pool: pool})
	check(err)
	w, err := worker.New(worker.Options{Pool: pool, Outbox: box})
	check(err)
	handled := make(chan string, 1)
	w.Handle("stripe", "invoice.*", func(ctx context.Context, tx pgx.Tx, e outbox.Event) error {
		if _, err := tx.Exec(ctx, `INSERT INTO payments (invoice) VALUES ($1)`, e.EventID); err != nil {
			return fmt.Errorf("record payment: %w", err)
		}
		handled <- e.Type + " " + e.EventID
		return nil
	})
	check(w.Start(ctx))

	// The gateway does this when a webhook comes in.
	_, err = box.Accept(ctx, outbox.Delivery{
		Source:      "stripe",
		Provider:    "stripe",
		ContentType: "application/json",
		Body:        []byte(`{"id":"evt_1","type":"invoice.paid"}`),
		Events:      []outbox.Incoming{{ID: "evt_1", Type: "invoice.paid"}},
		Handlers:    true,
	})
	check(err)
	fmt.Println(<-handled)

	// Stop lets the transaction of the handler finish.
	check(w.Stop(ctx))
	check(box.Stop(ctx))
	var payments int
	check(pool.QueryRow(ctx, `SELECT count(*) FROM payments`).Scan(&payments))
	fmt.Println(payments, "payment")
	// Output:
	// invoice.paid evt_1
	// 1 payment
}
