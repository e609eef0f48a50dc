package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/worker"
)

const paymentsTable = `
	CREATE TABLE IF NOT EXISTS payments (
		invoice text        PRIMARY KEY,
		amount  bigint      NOT NULL,
		status  text        NOT NULL,
		as_of   timestamptz NOT NULL
	)`

// invoice has the fields of the payload that the handler needs.
type invoice struct {
	Data struct {
		Object struct {
			ID         string `json:"id"`
			AmountPaid int64  `json:"amount_paid"`
			Status     string `json:"status"`
		} `json:"object"`
	} `json:"data"`
}

// recordPayment stores the state of an invoice, unless a newer state is stored. It can therefore
// run any number of times, for events in any order.
func recordPayment(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
	v, err := worker.Payload[invoice](e)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO payments (invoice, amount, status, as_of) VALUES ($1, $2, $3, $4)
		ON CONFLICT (invoice) DO UPDATE
		SET amount = excluded.amount, status = excluded.status, as_of = excluded.as_of
		WHERE payments.as_of <= excluded.as_of`,
		v.Data.Object.ID, v.Data.Object.AmountPaid, v.Data.Object.Status, e.OccurredAt)
	if err != nil {
		return fmt.Errorf("record payment: %w", err)
	}
	return nil
}
