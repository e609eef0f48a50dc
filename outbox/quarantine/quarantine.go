// Package quarantine keeps refused deliveries within bounds, so that they can be
// verified again once a wrong secret is corrected. It verifies nothing, and processes
// nothing.
//
// A [Keeper] writes what a gateway refuses, out of its way. A [Quarantine] is for the
// people who decide what becomes of it.
package quarantine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// What people order here, for the operator log.
const (
	ActionRetry ledger.Action = "quarantine.retry"
	ActionDrop  ledger.Action = "quarantine.drop"
)

// Options configure a Quarantine.
type Options struct {
	// Pool is the database, migrated. Required.
	Pool *pgxpool.Pool
	// Schema holds the tables. Defaults to schema.Default.
	Schema schema.Name
	// Ledger records what people order. Required.
	Ledger *ledger.Ledger
}

// Quarantine is what was refused, for people. It is safe for concurrent use.
type Quarantine struct {
	pool   *pgxpool.Pool
	ledger *ledger.Ledger
	sql    statements
}

// New returns a Quarantine on a migrated database.
func New(opts Options) (*Quarantine, error) {
	if opts.Pool == nil || opts.Ledger == nil {
		return nil, errors.New("quarantine options: Pool and Ledger are required")
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, err
	}
	return &Quarantine{pool: opts.Pool, ledger: opts.Ledger, sql: sql}, nil
}

// Filter selects deliveries. Empty fields take all.
type Filter struct {
	ID     uuid.UUID       `json:"id,omitzero"`
	Source identity.Source `json:"source,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Until  time.Time       `json:"until,omitzero"` // arrived before
}

// Share is how many deliveries of a source were refused for one reason.
type Share struct {
	Source identity.Source `json:"source"`
	Reason string          `json:"reason"`
	Count  int64           `json:"count"`
	Bytes  int64           `json:"bytes"`
	First  time.Time       `json:"first"`
	Last   time.Time       `json:"last"`
}

// UntilNow leaves out what arrives after it was counted.
func (f Filter) UntilNow(counted []Share) Filter {
	var last time.Time
	for _, s := range counted {
		if s.Last.After(last) {
			last = s.Last
		}
	}
	f.Until = last.Add(time.Microsecond)
	return f
}

// Count tells what f selects now, by source and reason.
func (q *Quarantine) Count(ctx context.Context, f Filter) ([]Share, error) {
	rows, err := q.sql.CountRejected.With(selectionOf(f)).Query(ctx, q.pool)
	if err != nil {
		return nil, fmt.Errorf("count the quarantine: %w", err)
	}
	shares, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s Share, err error) {
		return s, row.Scan(&s.Source, &s.Reason, &s.Count, &s.Bytes, &s.First, &s.Last)
	})
	if err != nil {
		return nil, fmt.Errorf("count the quarantine: %w", err)
	}
	return shares, nil
}

// List returns what f selects, the newest first, without bodies and headers.
func (q *Quarantine) List(ctx context.Context, f Filter, limit int) ([]Delivery, error) {
	rows, err := q.sql.ListRejected.With(listRejected{selection: selectionOf(f), Limit: column.Limit(limit)}).Query(ctx, q.pool)
	if err != nil {
		return nil, fmt.Errorf("list the quarantine: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d Delivery, err error) {
		return d, row.Scan(d.summary()...)
	})
	if err != nil {
		return nil, fmt.Errorf("list the quarantine: %w", err)
	}
	return list, nil
}

// Mark is where a walk through the quarantine has come to.
type Mark struct {
	at time.Time
	id uuid.UUID
}

// Mark is the place of a delivery.
func (d *Delivery) Mark() Mark { return Mark{at: d.RejectedAt, id: d.ID} }

// Next returns deliveries that f selects and that arrived after a mark, the oldest
// first, whole: at most limit.
func (q *Quarantine) Next(ctx context.Context, f Filter, after Mark, limit int) ([]Delivery, error) {
	rows, err := q.sql.NextRejected.With(nextRejected{
		selection: selectionOf(f), AfterAt: column.TimeOrNull(after.at), AfterID: after.id, Limit: limit,
	}).Query(ctx, q.pool)
	if err != nil {
		return nil, fmt.Errorf("read the quarantine: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d Delivery, err error) {
		return d, row.Scan(append(d.summary(), &d.Headers, &d.secrets, &d.Body, &d.key)...)
	})
	if err != nil {
		return nil, fmt.Errorf("read the quarantine: %w", err)
	}
	return list, nil
}

// Accepted takes deliveries out that were verified and accepted, and records who had
// it done: each part of an order has a number of its own. Those that are gone already
// are left out.
func (q *Quarantine) Accepted(ctx context.Context, ids []uuid.UUID, part int, f Filter, by ledger.Operator) error {
	asked := make([]rejectionID, len(ids))
	for i, id := range ids {
		asked[i].RejectionID = id
	}
	what := ledger.Instruction{Action: ActionRetry, Target: fmt.Sprintf("%s, part %d", targetOf(f), part), Filter: f}
	err := q.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		tag, err := q.sql.RemoveRejected.With(removeRejected{Asked: asked}).Exec(ctx, tx)
		return ledger.Consequence{Affected: tag.RowsAffected()}, err
	})
	if err != nil {
		return fmt.Errorf("take out of the quarantine: %w", err)
	}
	return nil
}

// Drop takes what f selects out for good, and records who decided it. It returns how
// many there were.
func (q *Quarantine) Drop(ctx context.Context, f Filter, by ledger.Operator) (dropped int64, err error) {
	what := ledger.Instruction{Action: ActionDrop, Target: targetOf(f), Filter: f}
	err = q.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		tag, err := q.sql.DropRejected.With(selectionOf(f)).Exec(ctx, tx)
		dropped = tag.RowsAffected()
		return ledger.Consequence{Affected: dropped}, err
	})
	if err != nil {
		return 0, fmt.Errorf("drop from the quarantine: %w", err)
	}
	return dropped, nil
}

// targetOf names what an order is about in the operator log.
func targetOf(f Filter) string {
	switch {
	case f.ID != uuid.Nil:
		return f.ID.String()
	case f.Source != "":
		return string(f.Source)
	}
	return "quarantine"
}
