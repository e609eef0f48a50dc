package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// ErrNotReplayable means that the event waits for its dispatch already, or the effect is
// in a state that cannot be tried again.
var ErrNotReplayable = errors.New("nothing to replay")

// ReplayOptions say how an event is replayed.
type ReplayOptions struct {
	// NewKeys makes new effects under new keys, which receivers apply again.
	// Without it the old effects stand: those that did not succeed are tried
	// again under their old key.
	NewKeys bool
	// RequestedBy is who asked, for the record (I11).
	RequestedBy string
}

// Replayed is what a replay set in motion.
type Replayed struct {
	Generation int // of the event
	Reopened   int // effects that are tried again under their old key
}

// Replay dispatches an event once more, by the configuration of today. It is
// recorded, and never happens by itself (I11). Errors: ErrNotFound, ErrNotReplayable.
func (o *Outbox) Replay(ctx context.Context, ref EventRef, opts ReplayOptions) (Replayed, error) {
	var done Replayed
	err := pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		j := dispatchJob{ref: ref}
		var receivedAt time.Time
		err := tx.QueryRow(ctx, o.sql.replayEvent, ref.Source, ref.EventID, opts.NewKeys, safeText(opts.RequestedBy)).
			Scan(&j.eventType, &receivedAt, &j.queue, &j.traceparent, &done.Generation)
		if errors.Is(err, pgx.ErrNoRows) {
			return o.whyNotReplayed(ctx, ref)
		}
		if err != nil {
			return err
		}
		j.receivedAt = receivedAt
		jobs := []river.InsertManyParams{o.dispatchJob(j)}
		if !opts.NewKeys {
			reopened, err := o.reopen(ctx, tx, "", ref)
			if err != nil {
				return err
			}
			done.Reopened = len(reopened)
			jobs = append(jobs, reopened...)
		}
		return o.insertJobs(ctx, tx, jobs)
	})
	if err != nil {
		return Replayed{}, fmt.Errorf("replay event %s: %w", ref, err)
	}
	return done, nil
}

func (o *Outbox) whyNotReplayed(ctx context.Context, ref EventRef) error {
	if _, err := o.Event(ctx, ref); err != nil {
		return err
	}
	return fmt.Errorf("%w: it waits for its dispatch", ErrNotReplayable)
}

// Retry lets a failed, parked or cancelled effect be attempted again, at once,
// with the same key and body (I7). A person orders it, so it holds for
// at_most_once too (I8). Errors: ErrNotFound, ErrNotReplayable.
func (o *Outbox) Retry(ctx context.Context, idempotencyKey string) error {
	err := pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		jobs, err := o.reopen(ctx, tx, idempotencyKey, EventRef{})
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			e, err := o.Effect(ctx, idempotencyKey)
			if err != nil {
				return err
			}
			return fmt.Errorf("%w: the effect is %s", ErrNotReplayable, e.State)
		}
		return o.insertJobs(ctx, tx, jobs)
	})
	if err != nil {
		return fmt.Errorf("retry effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// reopen returns the jobs of the effects it opened again.
func (o *Outbox) reopen(ctx context.Context, tx pgx.Tx, idempotencyKey string, event EventRef) ([]river.InsertManyParams, error) {
	rows, err := tx.Query(ctx, o.sql.reopenEffects, idempotencyKey, event.Source, event.EventID)
	if err != nil {
		return nil, fmt.Errorf("reopen effects: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (river.InsertManyParams, error) {
		j, err := scanEffectJob(row)
		return o.effectJob(j), err
	})
	if err != nil {
		return nil, fmt.Errorf("reopen effects: %w", err)
	}
	return jobs, nil
}

// Cancel gives an effect up that is not done. An attempt that runs may still be
// applied, but settles nothing. Errors: ErrNotFound, ErrNotReplayable.
func (o *Outbox) Cancel(ctx context.Context, idempotencyKey, reason string) error {
	var state EffectState
	err := o.pool.QueryRow(ctx, o.sql.cancelEffect, idempotencyKey, excerpt(reason, maxErrorLen)).Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		e, err := o.Effect(ctx, idempotencyKey)
		if err != nil {
			return fmt.Errorf("cancel effect: %w", err)
		}
		return fmt.Errorf("cancel effect %s: %w: the effect is %s", idempotencyKey, ErrNotReplayable, e.State)
	}
	if err != nil {
		return fmt.Errorf("cancel effect %s: %w", idempotencyKey, err)
	}
	return nil
}
