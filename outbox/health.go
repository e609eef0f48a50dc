package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
)

const (
	// partitionDaysAhead is how many days of deliveries are prepared.
	partitionDaysAhead = 14
	// minPartitionDaysAhead is how few may be left before we are not ready.
	minPartitionDaysAhead = 2
)

// MakePartitions prepares the partitions of deliveries for the next 14 days
// and returns how many were missing.
func (o *Outbox) MakePartitions(ctx context.Context) (int, error) {
	var made int
	err := o.db.Do(ctx, "make_partitions", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		return o.sql.MakePartitions.With(makePartitions{DaysAhead: partitionDaysAhead}).QueryRow(ctx, tx).Scan(&made)
	})
	if err != nil {
		return 0, fmt.Errorf("make delivery partitions: %w", err)
	}
	return made, nil
}

// CanCommit commits a transaction that writes WAL, which a read-only or stuck
// server cannot, and checks that at least 2 days of delivery partitions lie
// ahead. /readyz asks it.
func (o *Outbox) CanCommit(ctx context.Context) error {
	err := o.acceptDB.Do(ctx, "can_commit", commit.Limits{Once: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		var readOnly, written bool
		var daysAhead int
		if err := o.sql.CanCommit.QueryRow(ctx, tx).Scan(&readOnly, &daysAhead, &written); err != nil {
			return err
		}
		if readOnly {
			return errors.New("the database is read-only")
		}
		if daysAhead < minPartitionDaysAhead {
			return fmt.Errorf("partitions of deliveries reach %d days ahead, at least %d are needed: a worker's upkeep or `hooklatch migrate up` makes them",
				daysAhead, minPartitionDaysAhead)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot commit: %w", err)
	}
	return nil
}
