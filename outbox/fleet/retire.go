package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// enqueuingPatience is the maximum time for which Retire waits for transactions of applications. The
// effect of a longer transaction stays pending until the destination is retired again.
const enqueuingPatience = 10 * time.Second

// Waiting counts the unfinished effects at one destination that one route created, or that no route
// created.
type Waiting struct {
	Destination string
	Route       string // empty if no route created the effects
	Effects     int64
	Since       time.Time // creation of the oldest effect
	Unrendered  int64     // number of effects whose request is not rendered yet
}

// Waiting counts the unfinished effects by destination and route. It reads all of these effects.
func (f *Fleet) Waiting(ctx context.Context) ([]Waiting, error) {
	rows, err := f.sql.WaitingEffects.Query(ctx, f.read)
	if err != nil {
		return nil, fmt.Errorf("count waiting effects: %w", err)
	}
	waiting, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Waiting, error) {
		var w Waiting
		err := row.Scan(&w.Destination, &w.Route, &w.Effects, &w.Since, &w.Unrendered)
		return w, err
	})
	if err != nil {
		return nil, fmt.Errorf("count waiting effects: %w", err)
	}
	return waiting, nil
}

// Retire removes a destination that has permanently left the configuration. From then on enqueueing
// for it is refused, and a bulk run parks its unfinished effects. Upkeep cancels the jobs of the
// parked effects. If Retire is interrupted before the run starts, a repeated call completes it. A
// worker that starts with the destination again registers it anew. Errors: ErrServed,
// ErrUnknownDestination, ErrUnavailable.
func (f *Fleet) Retire(ctx context.Context, destination string, by ledger.Operator) (runs.Run, error) {
	by.RequestID = cmp.Or(by.RequestID, uuid.NewString())
	what := ledger.Instruction{Action: ledger.ActionRetireDestination, Target: destination}
	err := f.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		known, err := f.forget(ctx, tx, destination)
		switch {
		case err != nil:
			return ledger.Consequence{}, err
		case known:
			return ledger.Consequence{Result: "retired", Affected: 1}, nil
		}
		return ledger.Consequence{Result: "no change"}, nil
	})
	if err != nil {
		return runs.Run{}, fmt.Errorf("retire %s: %w", destination, err)
	}
	if err := f.awaitEnqueuing(ctx); err != nil {
		return runs.Run{}, fmt.Errorf("retire %s: %w", destination, err)
	}
	by.Reason = cmp.Or(by.Reason, "its destination is retired")
	run, err := f.runs.Begin(ctx, runs.Order{
		Action:      ledger.ActionParkEffect,
		Effects:     find.Effects{Destination: destination, States: ledger.StatesFor(ledger.ActionParkEffect)},
		EffectTerms: runs.EffectTerms{InDoubt: true}, // parking applies nothing
	}, by)
	if err != nil {
		return runs.Run{}, fmt.Errorf("retire %s: park its unfinished effects: %w", destination, err)
	}
	return run, nil
}

// awaitEnqueuing waits until the transactions that may have read a removed destination have ended, for
// at most enqueuingPatience. The effects that these transactions enqueue then exist when the run
// begins: a run parks only effects that were created before it.
func (f *Fleet) awaitEnqueuing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, enqueuingPatience)
	defer cancel()
	open := []string{} // transactions to wait for; empty: not looked up yet
	for range (retry.Pauses{First: 10 * time.Millisecond, Max: 200 * time.Millisecond}).Until(ctx) {
		err := f.sql.ReadingDestinations.With(readingDestinations{Of: open}).QueryRow(ctx, f.read).Scan(&open)
		if len(open) == 0 || err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// forget removes a destination and reports whether it existed. If a running process serves the
// destination, forget returns ErrServed. If the destination was removed earlier and no effects wait
// for it, forget returns ErrUnknownDestination.
func (f *Fleet) forget(ctx context.Context, tx pgx.Tx, destination string) (known bool, err error) {
	var locked string
	err = f.sql.LockDestination.With(named{Destination: destination}).QueryRow(ctx, tx).Scan(&locked)
	if errors.Is(err, pgx.ErrNoRows) {
		var waits bool
		if err := f.sql.WaitsFor.With(named{Destination: destination}).QueryRow(ctx, tx).Scan(&waits); err != nil {
			return false, fmt.Errorf("look for waiting effects: %w", err)
		}
		if !waits {
			return false, fmt.Errorf("%w %q", ledger.ErrUnknownDestination, destination)
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock destination: %w", err)
	}
	tag, err := f.sql.RetireDestination.With(retireDestination{Destination: destination, SeenSeconds: PresumedGone.Seconds()}).Exec(ctx, tx)
	if err != nil {
		return false, fmt.Errorf("remove destination: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return false, ErrServed
	}
	return true, nil
}
