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
		if err := o.insertJobs(ctx, tx, []river.InsertManyParams{o.dispatchJob(j)}); err != nil {
			return err
		}
		if !opts.NewKeys {
			if done.Reopened, err = o.reopen(ctx, tx, "", ref); err != nil {
				return err
			}
		}
		return nil
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
