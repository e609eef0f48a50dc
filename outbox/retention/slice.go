package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

const (
	// deletedAtOnce is how many rows a slice looks at that may all go, in some three
	// milliseconds.
	deletedAtOnce = 50
	// lookedAtAtOnce is how many rows are looked at together of which few go.
	lookedAtAtOnce = 1_000
	// rest is how long retention rests after a slice, in times of what it took.
	rest = 6
	// maxRest bounds a rest, in a run of some seconds: a slice that waited for a lock
	// or a stalled disk did not work all the time it took.
	maxRest = time.Second
)

// slice runs one slice, and rests. Deliveries that arrive meanwhile share the
// processors and the disk with retention, and must not notice it: so a slice is short,
// and retention rests longer than it works.
func (k *Keeper) slice(ctx context.Context, name commit.Name, f func(ctx context.Context, tx pgx.Tx) error) error {
	return k.andRest(ctx, name, rest, f)
}

// sparse runs a slice of rows few of which go, and rests for as long as it took.
func (k *Keeper) sparse(ctx context.Context, name commit.Name, f func(ctx context.Context, tx pgx.Tx) error) error {
	return k.andRest(ctx, name, 1, f)
}

func (k *Keeper) andRest(ctx context.Context, name commit.Name, times int, f func(ctx context.Context, tx pgx.Tx) error) error {
	began := time.Now()
	if err := k.alone(ctx, name, f); err != nil {
		return err
	}
	_ = retry.Wait(ctx, min(time.Duration(times)*time.Since(began), maxRest)) // the run sees the end of ctx before its next slice
	return nil
}

// alone runs a transaction, unless another run is at one.
func (k *Keeper) alone(ctx context.Context, name commit.Name, f func(ctx context.Context, tx pgx.Tx) error) error {
	return k.db.Do(ctx, name, commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		var locked bool
		if err := k.sql.TryLock.With(tryLock{Name: string(k.schema) + ".retention"}).QueryRow(ctx, tx).Scan(&locked); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if !locked {
			return ErrBusy
		}
		return f(ctx, tx)
	})
}
