package coverage

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Redelivery is a delivery that the provider is asked to repeat.
type Redelivery struct {
	EventID    identity.EventID
	Ref        string // the provider's identifier of the delivery
	HappenedAt time.Time
	AskedAt    time.Time // zero: recorded, but not requested yet
	Tries      int
}

// The outcomes of a redelivery.
const (
	RedeliveryArrived = "arrived"
	RedeliveryFetched = "fetched" // fetched from the list after all
	RedeliveryLost    = "lost"
)

type redeliveryRow struct {
	EventID    identity.EventID
	Ref        string
	HappenedAt time.Time
	Tries      int
}

type askRedeliveries struct {
	Source identity.Source
	Name   string
	Asked  []redeliveryRow
}

// Ask records redeliveries. For redeliveries that must wait, the caller sets Tries to 0. Before
// each request, the caller sets Tries to the number of the next try, so that the try counts even if
// the process is killed. Ask returns the tries of the redeliveries that may be requested. Ended
// redeliveries may not be requested, and are left out.
func (c *Coverage) Ask(ctx context.Context, s Stream, asked ...Redelivery) (tries map[identity.EventID]int, err error) {
	rows := make([]redeliveryRow, len(asked))
	for i, r := range asked {
		rows[i] = redeliveryRow{EventID: r.EventID, Ref: r.Ref, HappenedAt: r.HappenedAt, Tries: r.Tries}
	}
	err = c.opts.DB.Do(ctx, "ask_redeliveries", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		tries = map[identity.EventID]int{}
		found, err := c.sql.AskRedeliveries.With(askRedeliveries{Source: s.Source, Name: s.Name, Asked: rows}).Query(ctx, tx)
		if err != nil {
			return err
		}
		var id identity.EventID
		var n int
		_, err = pgx.ForEachRow(found, []any{&id, &n}, func() error {
			tries[id] = n
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for redeliveries: %w", err)
	}
	return tries, nil
}

type endRedeliveries struct {
	Source   identity.Source
	EventIDs []identity.EventID
	Outcome  string
}

// EndTx records the outcome of redeliveries, and returns how many of the redeliveries had not ended
// before.
func (c *Coverage) EndTx(ctx context.Context, tx pgx.Tx, source identity.Source, ids []identity.EventID, outcome string) (int64, error) {
	tag, err := c.sql.EndRedeliveries.With(endRedeliveries{Source: source, EventIDs: ids, Outcome: outcome}).Exec(ctx, tx)
	if err != nil {
		return 0, fmt.Errorf("end redeliveries: %w", err)
	}
	return tag.RowsAffected(), nil
}

// EndRedeliveries is like EndTx, but uses its own transaction, which also stores the counts of the
// run. It adds the number of ended redeliveries to *count.
func (c *Coverage) EndRedeliveries(ctx context.Context, r *Run, ids []identity.EventID, outcome string, count *int64) error {
	before := *count
	return c.opts.DB.Do(ctx, "end_redeliveries", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		*count = before
		ended, err := c.EndTx(ctx, tx, r.Source, ids, outcome)
		if err != nil {
			return err
		}
		if *count += ended; repeated {
			*count = before + int64(len(ids)) // an earlier try may have ended them
		}
		return c.NoteRunTx(ctx, tx, r, false)
	})
}

type waitingRedeliveries struct {
	Source identity.Source
	Name   string
	Most   int
}

// Waiting returns the redeliveries that have not ended, at most the given number, ordered by the
// time of the event.
func (c *Coverage) Waiting(ctx context.Context, s Stream, most int) (waiting []Redelivery, err error) {
	err = c.opts.DB.Do(ctx, "waiting_redeliveries", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		rows, err := c.sql.WaitingRedeliveries.With(waitingRedeliveries{Source: s.Source, Name: s.Name, Most: most}).Query(ctx, tx)
		if err != nil {
			return err
		}
		waiting, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Redelivery, error) {
			var r Redelivery
			var askedAt *time.Time
			err := row.Scan(&r.EventID, &r.Ref, &r.HappenedAt, &askedAt, &r.Tries)
			r.AskedAt = column.OrZero(askedAt)
			return r, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read redeliveries: %w", err)
	}
	return waiting, nil
}
