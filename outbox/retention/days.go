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

// The tables with one partition per day.
const (
	wholeDeliveries   = "deliveries"
	wholeLinks        = "links"
	wholeAttempts     = "attempts"
	wholeTransitions  = "transitions"
	wholeSearchValues = "search_values"
)

const (
	// detachTimeout is the maximum time that detaching a day waits for earlier transactions. The
	// next run finishes a day that is left half detached.
	detachTimeout = 15 * time.Second
	// detachTries is the maximum number of tries to lock the table, for a role that does not own
	// the table. Each try lasts at most the lock timeout of a transaction.
	detachTries = 20
)

// partition is one day of a table.
type partition struct {
	whole    string
	day      time.Time // 00:00 UTC
	attached bool
	pending  bool  // detaching the day was interrupted
	thin     bool  // only rows that outlive the day are left
	own      bool  // the current role has the rights of its owner
	bytes    int64 // including its indexes
	rows     int64 // an estimate
}

func (p partition) end() time.Time { return p.day.AddDate(0, 0, 1) }

// partitions lists the past days of a table, oldest first, including days that an interrupted
// run detached.
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

// findDays finds the oldest day of deliveries and search values, and the oldest day of links,
// attempts and transitions. It ignores thin days.
func (r *run) findDays(ctx context.Context, found *oldest) error {
	for _, whole := range []string{wholeDeliveries, wholeSearchValues, wholeLinks, wholeAttempts, wholeTransitions} {
		days, err := r.partitions(ctx, whole)
		if err != nil {
			return err
		}
		for _, p := range days {
			into := &found.details
			if whole == wholeDeliveries || whole == wholeSearchValues {
				into = &found.payloads
			}
			if !p.thin && (*into == nil || p.day.Before(**into)) {
				*into = &p.day
			}
		}
	}
	return nil
}

// detach removes a day from its table without blocking other transactions. A role that does not own
// the table briefly needs an exclusive lock on the table.
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

// detachConcurrently detaches a day with DETACH PARTITION CONCURRENTLY, which Postgres allows only
// outside a transaction. A cancelled call leaves the day half detached, and a later call finishes
// it. A table can have only one half detached day, so a day left by another run is finished first.
// If another run has detached the day meanwhile, nothing is left to do.
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

// finishDetaching finishes the half detached day of p's table, and returns the new state of p.
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

// alterDay detaches a day, or finishes its detaching.
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

// drop drops a detached day.
func (k *Keeper) drop(ctx context.Context, p partition) error {
	err := k.db.Do(ctx, "drop_day", commit.Limits{Recurring: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := k.sql.DropDay.With(oneDay{Whole: p.whole, Day: p.day}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop %s of %s: %w", p.day.Format(time.DateOnly), p.whole, err)
	}
	return nil
}
