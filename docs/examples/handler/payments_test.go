package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/hooktest"
)

func TestPaymentsStandTrouble(t *testing.T) {
	t.Parallel()
	event := func(id, eventType string, occurredAt time.Time) hooktest.Event {
		body, err := os.ReadFile("testdata/" + eventType + ".json")
		if err != nil {
			t.Fatal(err)
		}
		return hooktest.Event{ID: id, Type: eventType, Body: body, OccurredAt: occurredAt}
	}
	hooktest.Run(t, hooktest.Case{
		Events: []hooktest.Event{ // of one invoice, in the order in which they happened
			event("evt_1", "invoice.paid", time.Unix(1764000000, 0)),
			event("evt_2", "invoice.voided", time.Unix(1764000060, 0)),
		},
		Make: func(ctx context.Context, w hooktest.World) (worker.HandlerFunc, error) {
			_, err := w.DB.Exec(ctx, paymentsTable)
			return recordPayment, err
		},
		State: hooktest.Query(`SELECT * FROM payments ORDER BY invoice`),
	})
}
