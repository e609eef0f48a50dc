package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure a Keeper.
type Options struct {
	// DB is where what goes is committed. Required.
	DB *commit.DB
	// Pool is of the same database: a day is detached outside of any transaction, and
	// lists read from it. Required.
	Pool *pgxpool.Pool
	// Ledger records that a person let a run go on. Required.
	Ledger *ledger.Ledger
	// Schema holds the tables. Defaults to schema.Default.
	Schema schema.Name
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Keeper deletes what is past its time. It is safe for concurrent use; of several
// that run at once one works at a time.
type Keeper struct {
	db     *commit.DB
	pool   *pgxpool.Pool
	ledger *ledger.Ledger
	schema schema.Name
	sql    statements
	logger *slog.Logger

	leftDeliveries left[uuid.UUID] // among those that were kept
	leftKept       left[int64]     // among the events that were kept
	leftEffects    left[place]
	leftVersions   left[versionPlace]
}

// New returns a Keeper on a migrated database. It starts nothing.
func New(opts Options) (*Keeper, error) {
	if opts.DB == nil || opts.Pool == nil || opts.Ledger == nil {
		return nil, errors.New("retention options: DB, Pool and Ledger are required")
	}
	name := opts.Schema.OrDefault()
	sql, err := loadStatements(name)
	if err != nil {
		return nil, fmt.Errorf("retention: %w", err)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Keeper{db: opts.DB, pool: opts.Pool, ledger: opts.Ledger, schema: name, sql: sql, logger: opts.Logger}, nil
}

// ErrBusy is what a run returns while another one is at work.
var ErrBusy = errors.New("another run of retention is at work")

// Order is one run.
type Order struct {
	// Settings are those of the caller's configuration. Those of the processes that
	// run count too.
	Settings Settings
	// Approved is the person who lets the run go on although it deletes more than
	// three days at once. Nil: nobody does.
	Approved *ledger.Operator
	// Until is when the run ends between two slices, to go on in the next one. Zero:
	// when all is done.
	Until time.Time
	// Progress is told of every slice. It may be nil.
	Progress func(Part)
}

// Run deletes what is past its time and not needed. What it cannot finish, the next
// run does. Errors: ErrBusy, ErrUnavailable of package commit.
func (k *Keeper) Run(ctx context.Context, o Order) (Report, error) {
	r := &run{Keeper: k, order: o, look: deletedAtOnce}
	if err := r.prepare(ctx); err != nil {
		return Report{}, fmt.Errorf("retention: %w", err)
	}
	stopped := r.stopped()
	if len(stopped) > 0 && o.Approved != nil {
		if err := k.approve(ctx, *o.Approved, stopped); err != nil {
			return Report{}, fmt.Errorf("retention: %w", err)
		}
		stopped = nil
	}
	if len(stopped) > 0 {
		return r.report(stopped), r.stop(ctx, stopped)
	}
	for _, t := range r.tasks {
		if r.over(ctx) {
			return r.report(nil), ctx.Err()
		}
		if t.done || t.known && !t.due() {
			continue
		}
		if err := r.do(ctx, t); err != nil {
			return r.report(nil), fmt.Errorf("retention of %s: %w", t.name(), err)
		}
	}
	return r.report(nil), nil
}

// run is one run.
type run struct {
	*Keeper

	order    Order
	look     int       // rows of a slice in which many go
	now      time.Time // of the database
	settings Settings  // in effect
	tasks    []*task
	needs    *needs // what unfinished work needs, once somebody asked
	ended    bool   // by its time
}

// over says that the run has used up its time.
func (r *run) over(ctx context.Context) bool {
	r.ended = r.ended || ctx.Err() != nil || !r.order.Until.IsZero() && time.Now().After(r.order.Until)
	return r.ended
}

// do deletes what t is about, and records how far it came. The events of all sources
// are walked together, and so are the keys that were imported.
func (r *run) do(ctx context.Context, t *task) error {
	together := []*task{t}
	switch {
	case !t.due(): // it was met for the first time
	case t.what == Events, t.what == Imports:
		together = r.due(t.what)
		fallthrough
	default:
		if err := r.work(ctx, t, together); err != nil {
			return err
		}
	}
	for _, t := range together {
		t.done = t.done || !r.ended
		if err := r.record(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) work(ctx context.Context, t *task, together []*task) error {
	switch t.what {
	case Payloads:
		return r.dropPayloads(ctx, t)
	case Events:
		return r.deleteEvents(ctx, together)
	case Imports:
		return r.deleteImports(ctx, together)
	case Guards:
		return r.deleteGuards(ctx, t)
	case Effects:
		return r.deleteEffects(ctx, t)
	case Details:
		return r.dropDetails(ctx, t)
	case Versions:
		return r.deleteVersions(ctx, t)
	case Contents, Replays, Operations:
		return r.deleteAged(ctx, t)
	}
	return fmt.Errorf("nothing is known of %q", t.what)
}

// due are the tasks of a kind that are to be done.
func (r *run) due(what What) []*task {
	var due []*task
	for _, t := range r.tasks {
		if t.what == what && t.due() {
			due = append(due, t)
		}
	}
	return due
}
