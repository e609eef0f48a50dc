package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Overview is what a status page shows of the tables.
type Overview struct {
	Events  map[inbox.Outcome]int64
	Effects map[ledger.EffectState]int64
	// OldestReceived is when the oldest undispatched event was received, zero without one.
	OldestReceived time.Time
	// OldestDue is when the effect that waits longest became due, zero without one.
	OldestDue time.Time
	// DeliveryDaysAhead is how many days of partitions lie ahead.
	DeliveryDaysAhead int
	// Withheld is true while no at_most_once effect starts: see package repair.
	Withheld bool
}

// Overview counts events and effects by state. It reads both tables whole.
func (o *Outbox) Overview(ctx context.Context) (Overview, error) {
	var v Overview
	var oldestReceived, oldestDue *time.Time
	err := o.sql.Overview.QueryRow(ctx, o.readPool).Scan(&v.Events, &v.Effects, &oldestReceived, &oldestDue, &v.DeliveryDaysAhead, &v.Withheld)
	if err != nil {
		return Overview{}, fmt.Errorf("count events and effects: %w", err)
	}
	v.OldestReceived, v.OldestDue = column.OrZero(oldestReceived), column.OrZero(oldestDue)
	return v, nil
}
