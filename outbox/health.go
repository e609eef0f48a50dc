package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// partitionDaysAhead is the number of days for which delivery partitions are prepared.
	partitionDaysAhead = 14
	// minPartitionDaysAhead is the smallest number of prepared days at which the process is ready.
	minPartitionDaysAhead = 2
)

// MakePartitions prepares the delivery partitions of the next 14 days and returns the number of
// missing partitions that it created.
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

// CanCommit commits a transaction that writes WAL, which a read-only or stuck server cannot do. It
// also checks that delivery partitions exist for at least 2 days ahead. A server whose disk is full
// may still write WAL. After a delivery or a dispatch failed with ErrUnavailable, every CanCommit
// therefore also calls CanStore, until one CanStore has succeeded. /readyz calls CanCommit.
func (o *Outbox) CanCommit(ctx context.Context) error {
	refused := o.refusals.Load()
	if err := o.canWrite(ctx); err != nil {
		return err
	}
	if refused == o.forgiven.Load() {
		return nil
	}
	if err := o.CanStore(ctx); err != nil {
		return err
	}
	o.forgiven.Store(refused) // refusals that arrived meanwhile are checked next time
	return nil
}

// noteRefusal counts a commit that failed with ErrUnavailable.
func (o *Outbox) noteRefusal(err error) {
	if errors.Is(err, ErrUnavailable) {
		o.refusals.Add(1)
	}
}

// probeBody is the size of CanStore's delivery in bytes. It is larger than the space that a table
// usually has left before the server must extend the table.
const probeBody = 64 << 10

// CanStore stores a delivery as Accept does, and rolls it back. It returns the database's error,
// for example that the disk is full.
func (o *Outbox) CanStore(ctx context.Context) error {
	body := make([]byte, probeBody)
	_, _ = rand.Read(body) // never fails; compressible bytes would need little space
	id := rand.Text()
	a, err := o.newArrival(Delivery{
		Source: "hooklatch-probe", Provider: "hooklatch-probe", ContentType: "application/octet-stream", Body: body,
		Events: []Incoming{{ID: identity.EventID(id), Type: "probe"}},
	})
	if err != nil {
		return fmt.Errorf("cannot store deliveries: %w", err)
	}
	err = o.acceptDB.Do(ctx, "can_store", commit.Limits{Once: true, Undo: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := o.acceptBatch(ctx, tx, []arrival{a})
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot store deliveries: %w", err)
	}
	return nil
}

func (o *Outbox) canWrite(ctx context.Context) error {
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
			return fmt.Errorf("partitions of deliveries reach %s ahead; at least %d days are needed: a worker's upkeep or `hooklatch migrate up` creates them",
				noun.Counted(daysAhead, "day"), minPartitionDaysAhead)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot commit: %w", err)
	}
	return nil
}
