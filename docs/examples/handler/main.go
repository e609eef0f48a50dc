// Command handler runs your own Go code inside the transaction of an event's dispatch, so that
// its writes are applied once.
//
// It handles the events of the source "stripe", for which the configuration of the Hooklatch
// gateway has `handlers: true`:
//
//	DATABASE_URL=postgres://... go run ./docs/examples/handler
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Getenv("DATABASE_URL"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "handler:", err)
		os.Exit(1)
	}
}

// handlers is the maximum number of events that are handled simultaneously.
const handlers = 4

// run handles events until ctx is done.
func run(ctx context.Context, databaseURL string) (err error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return fmt.Errorf("read the database URL: %w", err)
	}
	config.MaxConns = handlers + 12 // each running handler holds a connection: see worker.ConnsNeeded
	commit.PreparePool(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, paymentsTable); err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	box, err := outbox.New(outbox.Options{Pool: pool, Logger: logger})
	if err != nil {
		return err
	}
	w, err := worker.New(worker.Options{Pool: pool, Outbox: box, Logger: logger, HandlerWorkers: handlers})
	if err != nil {
		return err
	}
	w.Handle("stripe", "invoice.*", recordPayment)
	if err := w.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	ctx = context.WithoutCancel(ctx)
	return errors.Join(w.Stop(ctx), box.Stop(ctx))
}
