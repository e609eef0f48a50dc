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
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure a Keeper.
type Options struct {
	// DB commits the deletions. Required.
	DB *commit.DB
	// Pool connects to the same database. Retention uses it to read lists, and to detach days, which
	// Postgres allows only outside a transaction. Required.
	Pool *pgxpool.Pool
	// Ledger records that an operator allowed a run to continue. Required.
	Ledger *ledger.Ledger
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// Export receives each day of deliveries before it is dropped. Nil: days are not exported.
	Export *export.Archive
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Keeper deletes expired rows. It is safe for concurrent use. Only one of several concurrent runs
// works at a time; the others return ErrBusy.
type Keeper struct {
	db     *commit.DB
	pool   *pgxpool.Pool
	ledger *ledger.Ledger
	export *export.Archive // nil: days are not exported
	schema schema.Name
	sql    statements
	logger *slog.Logger

	leftDeliveries left[uuid.UUID] // position in the walk through the kept deliveries
	leftKept       left[int64]     // position in the walk through the kept events
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
	return &Keeper{db: opts.DB, pool: opts.Pool, ledger: opts.Ledger, export: opts.Export, schema: name, sql: sql, logger: opts.Logger}, nil
}

// ErrBusy is returned by a run while another run is working.
var ErrBusy = errors.New("another run of retention is in progress")

// Order is the request for one run.
type Order struct {
	// Settings are the settings in the caller's configuration. The settings of the running
	// processes apply too.
	Settings Settings
	// Approved is the operator who allows the run to delete more than three days beyond the
	// previous run. Nil: not approved.
	Approved *ledger.Operator
	// Until is the time at which the run ends, between two slices. The next run continues. Zero:
	// the run ends when everything is done.
	Until time.Time
	// Progress is called repeatedly with the part in progress. It may be nil.
	Progress func(Part)
}

// Run deletes everything that has expired and is not needed. If it runs out of time, the next run
// continues. If the run needs an approval and o.Approved is nil, Run deletes nothing and sets
// Report.Stopped. Errors: ErrBusy, ErrUnavailable of package commit.
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
	if k.export != nil {
		if err := r.eraseNoted(ctx); err != nil {
			return r.report(nil), fmt.Errorf("retention: %w", err)
		}
	}
	for _, t := range r.tasks {
		if r.over(ctx) {
			return r.report(nil), ctx.Err()
		}
		if t.what == Events {
			r.keepUnexported(t)
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

// run is the state of one run.
type run struct {
	*Keeper

	order    Order
	look     int       // number of rows that a slice reads if all of them may be deleted
	now      time.Time // the database's time
	settings Settings  // settings in effect
	tasks    []*task
	needs    *needs // needs of unfinished work, once they have been read
	ended    bool   // out of time

	exporting bool // out of time while a day was exported
}

// over reports whether the run is out of time.
func (r *run) over(ctx context.Context) bool {
	r.ended = r.ended || ctx.Err() != nil || !r.order.Until.IsZero() && time.Now().After(r.order.Until)
	return r.ended
}

// do performs task t and records its progress. It walks the events of all sources together, and
// also the imported keys of all sources.
func (r *run) do(ctx context.Context, t *task) error {
	together := []*task{t}
	switch {
	case !t.due(): // new to retention: only its progress is recorded
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
	return fmt.Errorf("%q is not a kind of rows", t.what)
}

// due returns the tasks of a kind that are due.
func (r *run) due(what What) []*task {
	var due []*task
	for _, t := range r.tasks {
		if t.what == what && t.due() {
			due = append(due, t)
		}
	}
	return due
}
