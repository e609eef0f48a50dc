package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/embedded"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// examplePool returns a migrated database on a private Postgres. In your program, use the database
// in DATABASE_URL.
func examplePool(ctx context.Context) (pool *pgxpool.Pool, stop func()) {
	server, err := embedded.Start(ctx, embedded.Options{})
	check(err)
	pool, err = pgxpool.New(ctx, server.URL("postgres"))
	check(err)
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	check(err)
	_, err = migrator.Up(ctx)
	check(err)
	return pool, func() {
		pool.Close()
		check(server.Stop(ctx))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A worker sends the effects that routes create from events. Start returns when the worker runs.
// Stop returns when the worker's current jobs have ended.
func ExampleNew() {
	ctx := context.Background()
	pool, stop := examplePool(ctx)
	defer stop()
	received := make(chan string, 1)
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check(err)
		received <- string(body)
	}))
	defer app.Close()
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: app.URL})
	check(err)
	defer func() { check(sender.Close()) }()

	// The default timeout of Accept, 2 s, suits providers. This example also runs on slow machines.
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	check(err)
	w, err := worker.New(worker.Options{
		Pool:         pool,
		Outbox:       box,
		Destinations: []worker.DestinationOptions{{Name: "app", Sender: sender, Concurrency: 2}},
		Routes:       []route.Route{{Name: "invoices", From: []string{"stripe"}, Types: []string{"invoice.*"}, To: "app"}},
	})
	check(err)
	check(w.Start(ctx))

	_, err = box.Accept(ctx, outbox.Delivery{
		Source:      "stripe",
		Provider:    "stripe",
		ContentType: "application/json",
		Body:        []byte(`{"id":"evt_1","type":"invoice.paid"}`),
		Events:      []outbox.Incoming{{ID: "evt_1", Type: "invoice.paid"}},
	})
	check(err)
	fmt.Println(<-received)

	check(w.Stop(ctx))
	check(box.Stop(ctx))
	// Output: {"id":"evt_1","type":"invoice.paid"}
}

// Routes change while the worker runs. An invalid route changes nothing.
func ExampleWorker_SetRoutes() {
	ctx := context.Background()
	pool, stop := examplePool(ctx)
	defer stop()
	box, err := outbox.New(outbox.Options{Pool: pool})
	check(err)
	w, err := worker.New(worker.Options{Pool: pool, Outbox: box})
	check(err)

	err = w.SetRoutes([]route.Route{{Name: "all", From: []string{"*"}, To: "app"}}, "v2")
	fmt.Println(err)
	check(box.Stop(ctx))
	// Output: worker: route "all": to: "app" is not a destination; there are none
}

// A handler decides when its event is tried again, or that the event fails.
func ExampleRetryIn() {
	fmt.Println(worker.RetryIn(time.Minute, errors.New("the ledger of payments is closed")))
	fmt.Println(worker.GiveUp("the invoice is older than the shop"))
	// Output:
	// the ledger of payments is closed, again in 1m0s
	// given up: the invoice is older than the shop
}

// A handler decodes the payload of its event into its own type.
func ExamplePayload() {
	event := inbox.Event{Body: []byte(`{"id":"in_7","amount":1200,"currency":"eur"}`)}
	invoice, err := worker.Payload[struct {
		ID     string
		Amount int
	}](event)
	fmt.Println(invoice.ID, invoice.Amount, err)
	// Output: in_7 1200 <nil>
}

// A Go program handles events itself: the handler's writes with tx are committed once for each
// event, together with the record that the event was handled.
func ExampleWorker_Handle() {
	ctx := context.Background()
	pool, stop := examplePool(ctx)
	defer stop()
	_, err := pool.Exec(ctx, `CREATE TABLE payments (invoice text PRIMARY KEY)`)
	check(err)

	// The default timeout of Accept, 2 s, suits providers. This example also runs on slow machines.
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	check(err)
	w, err := worker.New(worker.Options{Pool: pool, Outbox: box})
	check(err)
	handled := make(chan string, 1)
	w.Handle("stripe", "invoice.*", func(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
		if _, err := tx.Exec(ctx, `INSERT INTO payments (invoice) VALUES ($1)`, e.EventID); err != nil {
			return fmt.Errorf("record payment: %w", err)
		}
		handled <- e.Type + " " + string(e.EventID)
		return nil
	})
	check(w.Start(ctx))

	// The gateway calls Accept when a webhook arrives.
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

	// Stop lets the handler's transaction finish.
	check(w.Stop(ctx))
	check(box.Stop(ctx))
	var payments int
	check(pool.QueryRow(ctx, `SELECT count(*) FROM payments`).Scan(&payments))
	fmt.Println(payments, "payment")
	// Output:
	// invoice.paid evt_1
	// 1 payment
}
