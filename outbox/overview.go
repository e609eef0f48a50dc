package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/internal/column"
)

// Overview is what a status page shows of the tables.
type Overview struct {
	Events  map[EventOutcome]int64
	Effects map[EffectState]int64
	// OldestReceived is when the oldest undispatched event was received, zero without one.
	OldestReceived time.Time
	// OldestDue is when the effect that waits longest became due, zero without one.
	OldestDue time.Time
	// DeliveryDaysAhead is how many days of partitions lie ahead.
	DeliveryDaysAhead int
}

// Overview counts events and effects by state. It reads both tables whole.
func (o *Outbox) Overview(ctx context.Context) (Overview, error) {
	var v Overview
	var oldestReceived, oldestDue *time.Time
	err := o.readPool.QueryRow(ctx, o.sql.overview).Scan(&v.Events, &v.Effects, &oldestReceived, &oldestDue, &v.DeliveryDaysAhead)
	if err != nil {
		return Overview{}, fmt.Errorf("count events and effects: %w", err)
	}
	v.OldestReceived, v.OldestDue = column.OrZero(oldestReceived), column.OrZero(oldestDue)
	return v, nil
}

// Unsuccessful counts the effects that wait for a person at one destination.
type Unsuccessful struct {
	Failed int64 `json:"failed"` // refused, or turned away to the last attempt
	Parked int64 `json:"parked"`
}

// Unsuccessful counts effects by destination; one without any is left out. It
// reads the whole table.
func (o *Outbox) Unsuccessful(ctx context.Context) (map[string]Unsuccessful, error) {
	rows, err := o.readPool.Query(ctx, o.sql.countUnsuccessful)
	if err != nil {
		return nil, fmt.Errorf("count unsuccessful effects: %w", err)
	}
	counts := make(map[string]Unsuccessful)
	var destination string
	var state EffectState
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&destination, &state, &n}, func() error {
		count := counts[destination]
		if state == EffectFailed {
			count.Failed = n
		} else {
			count.Parked = n
		}
		counts[destination] = count
		return nil
	}); err != nil {
		return nil, fmt.Errorf("count unsuccessful effects: %w", err)
	}
	return counts, nil
}
