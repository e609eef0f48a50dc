package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema"
)

// Reader reads waiting work, counts and responses. It is safe for concurrent use.
type Reader struct {
	db          pipeline.ByIndex // for statements about effects and events
	counts      pipeline.ByIndex // for statements that sort counts
	sql         statements
	most, least int
}

// NewReader returns a Reader on a migrated database. The parameter name is the Postgres schema of
// the tables; an empty name means schema.Default.
func NewReader(pool *pgxpool.Pool, name schema.Name) (*Reader, error) {
	if pool == nil {
		return nil, errors.New("measure: a pool is required")
	}
	sql, err := loadStatements(name)
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	return &Reader{
		db: pipeline.ByIndex{Sender: pool, InOrder: true}, counts: pipeline.ByIndex{Sender: pool}, sql: sql, most: Most, least: least,
	}, nil
}

// Awaited returns a Reader that counts up to MostAwaited, for a page that an operator is
// waiting for.
func (r *Reader) Awaited() *Reader {
	awaited := *r
	awaited.most = min(r.most, MostAwaited)
	return &awaited
}

// Read reads a complete Snapshot.
func (r *Reader) Read(ctx context.Context) (*Snapshot, error) {
	begun := time.Now()
	s := &Snapshot{}
	if err := r.ask(ctx, func(q *questions) {
		r.askWaiting(q, &s.Waiting)
		r.askStanding(q, &s.Standing)
	}); err != nil {
		return nil, fmt.Errorf("read waiting work: %w", err)
	}
	s.Took = time.Since(begun)
	return s, nil
}

// Waiting reads values that change every second.
func (r *Reader) Waiting(ctx context.Context) (*Waiting, error) {
	w := &Waiting{}
	if err := r.ask(ctx, func(q *questions) { r.askWaiting(q, w) }); err != nil {
		return nil, fmt.Errorf("read waiting work: %w", err)
	}
	return w, nil
}

// Standing reads values that change every minute.
func (r *Reader) Standing(ctx context.Context) (*Standing, error) {
	s := &Standing{}
	if err := r.ask(ctx, func(q *questions) { r.askStanding(q, s) }); err != nil {
		return nil, fmt.Errorf("read current state: %w", err)
	}
	return s, nil
}

func (r *Reader) askWaiting(q *questions, w *Waiting) {
	q.row(r.sql.Deployed.With(deployed{WorkerSeconds: fleet.PresumedGone.Seconds()}), &w.DeployedAt)
	share := counted{Most: r.most, Least: r.least}
	q.row(r.sql.Database, &w.At, &w.DaysAhead, &w.Withheld, &w.Led)
	list(q, r.sql.Unfinished.With(share), &w.Effects)
	list(q, r.sql.EffectsAside.With(aside{Most: MostAside}), &w.Effects)
	list(q, r.sql.OldestDue.With(oldestDue{Orders: mostOrders}), &w.Due)
	list(q, r.sql.Undispatched.With(undispatched{counted: share, WorkerSeconds: fleet.PresumedGone.Seconds()}), &w.Undispatched)
	list(q, r.sql.EventsAside.With(aside{Most: MostAside}), &w.EventsAside)
	list(q, r.sql.Destinations, &w.Destinations)
	list(q, r.sql.LastAccepted, &w.LastAccepted)
	list(q, r.sql.Lists, &w.Lists)
	list(q, r.sql.Processes.With(processes{SeenSeconds: retention.PresumedGone.Seconds()}), &w.Processes)
}

func (r *Reader) askStanding(q *questions, s *Standing) {
	list(q, r.sql.Quarantine, &s.Quarantine)
	list(q, r.sql.Retention, &s.Retention)
	list(q, r.sql.Sizes, &s.Tables)
	list(q, r.sql.Usual, &s.Usual)
	list(q, r.sql.Skipped, &s.Skipped)
}

// questions is a batch of statements, sent in one transaction and one round trip.
type questions struct{ batch pgx.Batch }

func (r *Reader) ask(ctx context.Context, asking func(q *questions)) error {
	q := &questions{}
	q.batch.Queue("SELECT " + pipeline.Settings + ", " + pipeline.SettingsInOrder)
	asking(q)
	return r.db.SendBatch(ctx, &q.batch).Close()
}

// row queues a statement that returns one row.
func (q *questions) row(what statement.Bound, into ...any) {
	what.Queue(&q.batch).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(into...); err != nil {
			return fmt.Errorf("%s: %w", what.Name(), err)
		}
		return nil
	})
}

// list queues a statement that returns a list of T: the fields of T are the columns, in order.
func list[T any](q *questions, what statement.Bound, into *[]T) {
	what.Queue(&q.batch).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		if err != nil {
			return fmt.Errorf("%s: %w", what.Name(), err)
		}
		*into = append(*into, found...)
		return nil
	})
}
