// Package quarantine stores a bounded number of refused deliveries, for the gateway and the
// program. An operator can have the deliveries verified again once a wrong secret is corrected. The
// package itself verifies nothing, and processes nothing.
//
// A [Keeper] stores requests that a gateway refuses, without delaying the gateway. A [Quarantine]
// is for the operators who decide about the stored deliveries.
package quarantine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// The operator actions on the quarantine.
const (
	ActionRetry ledger.Action = "quarantine.retry"
	ActionDrop  ledger.Action = "quarantine.drop"
)

// Options configure a Quarantine.
type Options struct {
	// Pool connects to the migrated database. Required.
	Pool *pgxpool.Pool
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// Ledger records operator actions. Required.
	Ledger *ledger.Ledger
}

// Quarantine gives operators access to refused deliveries. It is safe for concurrent use.
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

// Filter selects deliveries. Empty fields select all. A bulk run (package runs) stores its Filter.
type Filter struct {
	ID     uuid.UUID       `json:"id,omitzero"`
	Source identity.Source `json:"source,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Until  time.Time       `json:"until,omitzero"` // selects deliveries that arrived before this time
}

// Share sums up the deliveries of one source that were refused for one reason.
type Share struct {
	Source identity.Source `json:"source"`
	Reason string          `json:"reason"`
	Count  int64           `json:"count"`
	Bytes  int64           `json:"bytes"`
	First  time.Time       `json:"first"`
	Last   time.Time       `json:"last"`
}

// UntilNow returns f, limited to deliveries that arrived no later than the last counted delivery.
// If no delivery was counted, the result selects nothing.
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

// Count counts the deliveries that f selects now, by source and reason.
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

// List returns the deliveries that f selects, newest first, without bodies and headers. A limit of
// 0 means 50.
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

// Mark is a position in a walk through the quarantine.
type Mark struct {
	at time.Time
	id uuid.UUID
}

// Mark returns a delivery's position.
func (d *Delivery) Mark() Mark { return Mark{at: d.RejectedAt, id: d.ID} }

// String returns the mark in the form that ParseMark reads.
func (m Mark) String() string { return fmt.Sprintf("%d.%s", m.at.UnixMicro(), m.id) }

// ParseMark parses a mark. The empty text is the mark before all deliveries.
func ParseMark(text string) (Mark, error) {
	if text == "" {
		return Mark{}, nil
	}
	micros, id, _ := strings.Cut(text, ".")
	at, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return Mark{}, fmt.Errorf("%q is not a position in the quarantine", text)
	}
	m := Mark{at: time.UnixMicro(at)}
	if m.id, err = uuid.Parse(id); err != nil {
		return Mark{}, fmt.Errorf("%q is not a position in the quarantine", text)
	}
	return m, nil
}

// Onward returns the same deliveries as Next, without bodies and headers.
func (q *Quarantine) Onward(ctx context.Context, f Filter, after Mark, limit int) ([]Delivery, error) {
	rows, err := q.sql.OnwardRejected.With(after.of(f, limit)).Query(ctx, q.pool)
	if err != nil {
		return nil, fmt.Errorf("walk the quarantine: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d Delivery, err error) {
		return d, row.Scan(d.summary()...)
	})
	if err != nil {
		return nil, fmt.Errorf("walk the quarantine: %w", err)
	}
	return list, nil
}

// of returns the arguments for the next page of a filter's selection.
func (m Mark) of(f Filter, limit int) nextRejected {
	return nextRejected{selection: selectionOf(f), AfterAt: column.TimeOrNull(m.at), AfterID: m.id, Limit: column.Limit(limit)}
}

// Next returns at most limit complete deliveries that f selects after a mark, oldest first. A limit
// of 0 means 50.
func (q *Quarantine) Next(ctx context.Context, f Filter, after Mark, limit int) ([]Delivery, error) {
	rows, err := q.sql.NextRejected.With(after.of(f, limit)).Query(ctx, q.pool)
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

// Accepted removes a delivery that was verified and accepted, and records the operator.
func (q *Quarantine) Accepted(ctx context.Context, id uuid.UUID, by ledger.Operator) error {
	if _, err := q.takeOut(ctx, ActionRetry, id, by); err != nil {
		return fmt.Errorf("remove from the quarantine: %w", err)
	}
	return nil
}

// Drop permanently removes a delivery, and records the operator. It reports whether the delivery
// existed.
func (q *Quarantine) Drop(ctx context.Context, id uuid.UUID, by ledger.Operator) (bool, error) {
	there, err := q.takeOut(ctx, ActionDrop, id, by)
	if err != nil {
		return false, fmt.Errorf("drop from the quarantine: %w", err)
	}
	return there, nil
}

func (q *Quarantine) takeOut(ctx context.Context, action ledger.Action, id uuid.UUID, by ledger.Operator) (there bool, err error) {
	what := ledger.Instruction{Action: action, Target: id.String(), Filter: Filter{ID: id}}
	err = q.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		gone, err := q.RemoveTx(ctx, tx, id)
		there = gone > 0
		return ledger.Consequence{Affected: gone}, err
	})
	return there, err
}

// RemoveTx removes deliveries in the caller's transaction, without a record in the operator log. It
// returns the number of deliveries that existed.
func (q *Quarantine) RemoveTx(ctx context.Context, tx pgx.Tx, ids ...uuid.UUID) (int64, error) {
	asked := make([]rejectionID, len(ids))
	for i, id := range ids {
		asked[i].RejectionID = id
	}
	tag, err := q.sql.RemoveRejected.With(removeRejected{Asked: asked}).Exec(ctx, tx)
	if err != nil {
		return 0, fmt.Errorf("delete refused deliveries: %w", err)
	}
	return tag.RowsAffected(), nil
}
