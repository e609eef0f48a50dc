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
	// deletedAtOnce is the number of rows that a slice reads if all of them may be deleted. A slice
	// of this size takes about three milliseconds.
	deletedAtOnce = 50
	// lookedAtAtOnce is the number of rows that a slice reads if few of them are deleted.
	lookedAtAtOnce = 1_000
	// rest is the pause after a slice, as a multiple of the slice's duration.
	rest = 6
	// maxRest limits the pause after a slice. A run may last only a few seconds, and a slice that
	// waited for a lock or a stalled disk was not working the whole time.
	maxRest = time.Second
)

// slice runs one slice, and pauses. Concurrent deliveries share processors and disk with retention,
// and must not be delayed. So a slice is short, and retention pauses longer than it works.
func (k *Keeper) slice(ctx context.Context, name commit.Name, f func(ctx context.Context, tx pgx.Tx) error) error {
	return k.andRest(ctx, name, rest, f)
}

// sparse runs a slice that deletes few rows, and then pauses for as long as the slice took.
func (k *Keeper) sparse(ctx context.Context, name commit.Name, f func(ctx context.Context, tx pgx.Tx) error) error {
	return k.andRest(ctx, name, 1, f)
}

func (k *Keeper) andRest(ctx context.Context, name commit.Name, times int, f func(ctx context.Context, tx pgx.Tx) error) error {
	began := time.Now()
	if err := k.alone(ctx, name, f); err != nil {
		return err
	}
	_ = retry.Wait(ctx, min(time.Duration(times)*time.Since(began), maxRest)) // the run notices the end of ctx before its next slice
	return nil
}

// alone runs a transaction under the lock of retention. It returns ErrBusy if another run holds the
// lock.
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
