package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

// The tables that have a partition for each day.
const (
	wholeDeliveries  = "deliveries"
	wholeLinks       = "links"
	wholeAttempts    = "attempts"
	wholeTransitions = "transitions"
)

const (
	// detachTimeout is how long a day is waited for: transactions that began before
	// must end. What is left half detached then, the next run finishes.
	detachTimeout = 15 * time.Second
	// detachTries is how often a role that owns nothing asks for the table for a
	// moment, each time for at most the lock time-out of a transaction.
	detachTries = 20
)

// partition is a day of a table.
type partition struct {
	whole    string
	day      time.Time // 00:00 UTC
	attached bool
	pending  bool  // its detaching was interrupted
	thin     bool  // only what outlives it is left
	own      bool  // by the role that asks
	bytes    int64 // with its indexes
	rows     int64 // an estimate
}

func (p partition) end() time.Time { return p.day.AddDate(0, 0, 1) }

// partitions lists the days of a table that are over, the oldest first, those that an
// interrupted run detached included.
func (k *Keeper) partitions(ctx context.Context, whole string) ([]partition, error) {
	rows, err := k.sql.Days.With(days{Whole: whole}).Query(ctx, k.pool)
	if err != nil {
		return nil, fmt.Errorf("list days of %s: %w", whole, err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (partition, error) {
		p := partition{whole: whole}
		err := row.Scan(&p.day, &p.attached, &p.pending, &p.thin, &p.own, &p.bytes, &p.rows)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("list days of %s: %w", whole, err)
	}
	return all, nil
}

// findDays finds the oldest day of the tables that have them.
func (r *run) findDays(ctx context.Context, found *oldest) error {
	for _, whole := range []string{wholeDeliveries, wholeLinks, wholeAttempts, wholeTransitions} {
		days, err := r.partitions(ctx, whole)
		if err != nil {
			return err
		}
		for _, p := range days {
			into := &found.details
			if whole == wholeDeliveries {
				into = &found.payloads
			}
			if !p.thin && (*into == nil || p.day.Before(**into)) {
				*into = &p.day
			}
		}
	}
	return nil
}

// detach takes a day out of its table without keeping anybody waiting. Who does not
// own the table needs it for a moment for itself.
func (k *Keeper) detach(ctx context.Context, p partition) error {
	if !p.attached {
		return nil
	}
	if p.own {
		return k.detachConcurrently(ctx, p)
	}
	pauses := retry.Pauses{First: 50 * time.Millisecond, Max: time.Second, Spread: true}
	tries := 0
	var err error
	for range pauses.Until(ctx) {
		tries++
		err = k.db.Do(ctx, "detach_day", commit.Limits{Once: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
			_, err := k.sql.DetachDay.With(oneDay{Whole: p.whole, Day: p.day}).Exec(ctx, tx)
			return err
		})
		if err == nil || tries == detachTries || !errors.Is(err, commit.ErrUnavailable) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("detach %s of %s: %w", p.day.Format(time.DateOnly), p.whole, err)
	}
	return nil
}

// detachConcurrently runs outside of any transaction, as Postgres demands. One that
// was cancelled leaves the day half detached, and is finished. A table can have one
// such day only, so that of another run is finished first, and what another run has
// detached by now is well.
func (k *Keeper) detachConcurrently(ctx context.Context, p partition) error {
	ctx, cancel := context.WithTimeout(ctx, detachTimeout)
	defer cancel()
	err := k.alterDay(ctx, p)
	if sqlstate.Is(err, sqlstate.NotInPrerequisiteState) || sqlstate.Is(err, sqlstate.UndefinedTable) {
		if p, err = k.finishDetaching(ctx, p); err == nil && p.attached {
			err = k.alterDay(ctx, p)
		}
	}
	if err != nil {
		return fmt.Errorf("detach %s of %s: %w", p.day.Format(time.DateOnly), p.whole, err)
	}
	return nil
}

// finishDetaching finishes the day of p's table that is half detached, and says what p
// is since.
func (k *Keeper) finishDetaching(ctx context.Context, p partition) (partition, error) {
	all, err := k.partitions(ctx, p.whole)
	if err != nil {
		return p, err
	}
	p.attached = false
	for _, d := range all {
		if d.pending {
			if err := k.alterDay(ctx, d); err != nil {
				return p, fmt.Errorf("finish detaching %s: %w", d.day.Format(time.DateOnly), err)
			}
			d.attached = false
		}
		if d.day.Equal(p.day) {
			p = d
		}
	}
	return p, nil
}

// alterDay detaches a day, or finishes that.
func (k *Keeper) alterDay(ctx context.Context, p partition) error {
	name := string(k.schema) + "." + p.whole
	how := "CONCURRENTLY"
	if p.pending {
		how = "FINALIZE"
	}
	alter := fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s_%s %s", name, name, p.day.Format("20060102"), how)
	_, err := k.pool.Exec(ctx, alter, pgx.QueryExecModeSimpleProtocol)
	return err
}

// drop drops a day that was detached.
func (k *Keeper) drop(ctx context.Context, p partition) error {
	err := k.db.Do(ctx, "drop_day", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := k.sql.DropDay.With(oneDay{Whole: p.whole, Day: p.day}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop %s of %s: %w", p.day.Format(time.DateOnly), p.whole, err)
	}
	return nil
}
