package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// Retry lets a failed, parked or cancelled effect be attempted again, at once,
// with the same key and body (I7). A person orders it, so it holds for
// at_most_once too (I8), and key_ttl counts anew. An effect that could not be
// rendered is not retried: its event is replayed. Errors: ErrNotFound,
// ErrNotReplayable, ErrUnavailable.
func (o *Outbox) Retry(ctx context.Context, idempotencyKey string) error {
	err := o.transact(ctx, workTimeout, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		reopened, err := o.reopen(ctx, tx, idempotencyKey, EventRef{})
		if err != nil || reopened > 0 {
			return err
		}
		e, err := o.effect(ctx, tx, idempotencyKey)
		switch {
		case err != nil:
			return err
		case repeated && (!e.State.Finished() || e.State == EffectDone):
			return nil // the try whose answer was lost did it
		}
		return fmt.Errorf("%w: the effect is %s", ErrNotReplayable, e.State)
	})
	if err != nil {
		return fmt.Errorf("retry effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// reopen counts the effects it opened again. Each has a job, or waits for its
// turn.
func (o *Outbox) reopen(ctx context.Context, tx pgx.Tx, idempotencyKey string, event EventRef) (int, error) {
	rows, err := tx.Query(ctx, o.sql.reopenEffects, idempotencyKey, event.Source, event.EventID)
	if err != nil {
		return 0, fmt.Errorf("reopen effects: %w", err)
	}
	reopened, err := pgx.CollectRows(rows, scanHead)
	if err != nil {
		return 0, fmt.Errorf("reopen effects: %w", err)
	}
	orders := make(map[orderKey]bool)
	for _, e := range reopened {
		if e.order != "" {
			orders[e.key()] = true
		}
	}
	if err := o.lockOrders(ctx, tx, orders); err != nil {
		return 0, err
	}
	heads, err := o.headsOf(ctx, tx, orders)
	if err != nil {
		return 0, err
	}
	first := make(map[EffectID]bool, len(heads))
	for _, h := range heads {
		first[h.place.id] = true
	}
	var jobs []river.InsertManyParams
	for _, e := range reopened {
		if e.order == "" || first[e.place.id] {
			jobs = append(jobs, o.effectJob(e.effectJob))
		}
	}
	return len(reopened), o.insertJobs(ctx, tx, jobs)
}

// Cancel gives an effect up that is not done. An attempt that runs may still be
// applied, but settles nothing. Errors: ErrNotFound, ErrNotReplayable,
// ErrUnavailable.
func (o *Outbox) Cancel(ctx context.Context, idempotencyKey, reason string) error {
	if err := o.putAside(ctx, o.sql.cancelEffect, idempotencyKey, reason, EffectCancelled); err != nil {
		return fmt.Errorf("cancel effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// Park puts an unfinished effect aside until a person retries or cancels it. An
// attempt that runs may still be applied, but settles nothing. Errors:
// ErrNotFound, ErrNotReplayable, ErrUnavailable.
func (o *Outbox) Park(ctx context.Context, idempotencyKey, reason string) error {
	if err := o.putAside(ctx, o.sql.parkEffect, idempotencyKey, reason, EffectParked); err != nil {
		return fmt.Errorf("park effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// putAside runs a statement that ends an effect by a person's order, and wakes
// what waited behind it.
func (o *Outbox) putAside(ctx context.Context, statement, idempotencyKey, reason string, to EffectState) error {
	return o.transact(ctx, workTimeout, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		var p place
		err := tx.QueryRow(ctx, statement, idempotencyKey, excerpt(reason, maxErrorLen)).
			Scan(&p.id.Scope, &p.id.Key, &p.id.Generation, &p.order, &p.acceptSeq)
		if errors.Is(err, pgx.ErrNoRows) {
			e, err := o.effect(ctx, tx, idempotencyKey)
			switch {
			case err != nil:
				return err
			case repeated && e.State == to:
				return nil // the try whose answer was lost did it
			}
			return fmt.Errorf("%w: the effect is %s", ErrNotReplayable, e.State)
		}
		if err != nil {
			return err
		}
		return o.wakeNext(ctx, tx, []place{p}, false)
	})
}
