package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/moves"
	"github.com/hooklatch/hooklatch/internal/recent"
	"github.com/hooklatch/hooklatch/internal/repair"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	defaultAcceptTimeout = 2 * time.Second
	noteTimeout          = 5 * time.Second
	// patience is the GroupOptions.Patience of dispatches, claims and settlements. During the wait,
	// more members join one statement. A statement costs about as much as ten of its rows, and no
	// sender waits for these statements.
	patience = 10 * time.Millisecond
)

// Options configure an Outbox.
type Options struct {
	// Pool connects to the migrated database. Dispatches, claims, settlements, effects in the
	// same Postgres (RunTx) and operator actions use it. If the server replicates
	// synchronously, commit.PreparePool must prepare Pool and AcceptPool. Required.
	Pool *pgxpool.Pool
	// AcceptPool is used by Accept, duplicate counts, retry statistics, sender keys, CanCommit and
	// CanStore. It connects to the same database. RunTx and handlers hold a connection of Pool
	// while they run. A process that also accepts deliveries should set AcceptPool to a pool of at
	// least 8 connections. Otherwise deliveries wait for RunTx and handlers. Defaults to Pool.
	AcceptPool *pgxpool.Pool
	// ReadPool connects to the same database. Lists and counts for operators use it: they may read
	// much data, and must not delay other work. Defaults to Pool.
	ReadPool *pgxpool.Pool
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// PollOnly is true if no worker listens (worker.Options.PollOnly). The outbox then sends no
	// notifications of new jobs.
	PollOnly bool
	// Export, such as an export.Directory, receives each day of deliveries before retention drops
	// the day. Events of exported days can still be read, replayed and erased. Every process needs
	// the same Export. Nil: retention deletes without an export.
	Export export.Storage
	// AcceptTimeout bounds one Accept, including waiting. Defaults to 2 seconds.
	AcceptTimeout time.Duration
	// Committers is the maximum number of simultaneous group commits of one kind, each on its own
	// connection. Defaults to 2.
	Committers int
	// Shared is a memory of committed events that several processes share, such as one of package
	// seen. It saves queries if duplicates reach several gateways. Nil: none.
	Shared SharedMemory
	// SharedTTL is how long after its receipt an event is found in Shared. It must be at most half
	// of the shortest time for which retention remembers an event, and at most MaxSharedTTL.
	// Defaults to DefaultSharedTTL.
	SharedTTL time.Duration
	// ConsoleURL is the console's address. Job metadata links to events and effects there. Empty:
	// no links.
	ConsoleURL string
	// Logger receives the log. Defaults to a logger that discards everything.
	Logger *slog.Logger
	// MeterProvider creates the meters. Defaults to the global provider.
	MeterProvider metric.MeterProvider

	noteTimeout time.Duration // the constant noteTimeout, or more in tests
}

func (opts Options) withDefaults() Options {
	opts.Schema = opts.Schema.OrDefault()
	opts.AcceptPool = cmp.Or(opts.AcceptPool, opts.Pool)
	opts.ReadPool = cmp.Or(opts.ReadPool, opts.Pool)
	opts.AcceptTimeout = cmp.Or(opts.AcceptTimeout, defaultAcceptTimeout)
	opts.SharedTTL = cmp.Or(opts.SharedTTL, DefaultSharedTTL)
	opts.noteTimeout = cmp.Or(opts.noteTimeout, noteTimeout)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return opts
}

func (opts Options) validate() error {
	if opts.Pool == nil {
		return errors.New("Pool is required")
	}
	if err := opts.Schema.Validate(); err != nil {
		return err
	}
	if opts.AcceptTimeout < 0 {
		return fmt.Errorf("AcceptTimeout is %s; it must be positive", opts.AcceptTimeout)
	}
	if opts.SharedTTL < 0 || opts.SharedTTL > MaxSharedTTL {
		return fmt.Errorf("SharedTTL is %s; it must be positive and at most %s", opts.SharedTTL, MaxSharedTTL)
	}
	if opts.Committers < 0 {
		return fmt.Errorf("Committers is %d; it must be positive", opts.Committers)
	}
	return nil
}

// Outbox stores accepted events and gives access to the ledger of their effects, in one
// Postgres schema. It is safe for concurrent use.
type Outbox struct {
	ledger   *ledger.Ledger
	fleet    *fleet.Fleet
	inbox    *inbox.Inbox
	finder   *find.Finder
	runs     *runs.Runs
	keeper   *retention.Keeper
	erasure  *erasure.Eraser
	repairer *repair.Repairer
	coverage *coverage.Coverage
	moves    *moves.Moves
	exported *export.Archive // nil without an export
	db       *commit.DB      // commits on Pool
	acceptDB *commit.DB      // commits on AcceptPool
	readPool *pgxpool.Pool   // serves lists and counts
	schema   schema.Name
	sql      statements
	jobs     *riverjob.Inserter
	logger   *slog.Logger

	// refusals counts the commits that failed with ErrUnavailable. forgiven is the count at the
	// start of the last CanCommit whose CanStore succeeded.
	refusals, forgiven atomic.Int64

	accepts    *commit.Group[arrival, Acceptance]
	recent     *recent.Cache
	shared     *sharedEvents
	counted    *duplicateCount
	overtaken  metric.Int64Counter
	duplicates *commit.Group[duplicateNote, struct{}]
	retries    *retryCount
	senderKeys *commit.Group[SenderKey, struct{}]
	dispatches *commit.Group[Dispatch, Dispatched]
	planner    atomic.Pointer[Planner] // planner of this process, if it has one

	planTimeout time.Duration // the constant planTimeout, or more in tests
	noteTimeout time.Duration // Options.noteTimeout
}

// New returns an Outbox on a migrated database. It starts nothing: committers run only while they
// have something to commit.
func New(opts Options) (*Outbox, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("outbox options: %w", err)
	}
	o := &Outbox{readPool: opts.ReadPool, schema: opts.Schema, logger: opts.Logger, planTimeout: planTimeout, noteTimeout: opts.noteTimeout}
	var err error
	if o.sql, err = loadStatements(opts.Schema); err != nil {
		return nil, err
	}
	if o.db, err = commit.New(commit.Options{Pool: opts.Pool, MeterProvider: opts.MeterProvider}); err != nil {
		return nil, err
	}
	if o.acceptDB, err = commit.New(commit.Options{Pool: opts.AcceptPool, MeterProvider: opts.MeterProvider}); err != nil {
		return nil, err
	}
	o.jobs, err = riverjob.NewInserter(riverjob.InserterOptions{
		Pool: opts.AcceptPool, Schema: opts.Schema, ConsoleURL: opts.ConsoleURL, Quiet: opts.PollOnly, Logger: opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	o.ledger, err = ledger.New(ledger.Options{
		DB: o.db, ReadPool: opts.ReadPool, Schema: opts.Schema, Jobs: o.jobs, Committers: opts.Committers, Patience: patience, Logger: opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	if opts.Export != nil {
		o.exported, err = export.New(export.Options{Storage: opts.Export, DB: o.db, ReadPool: opts.ReadPool, Schema: opts.Schema, Logger: opts.Logger})
		if err != nil {
			return nil, err
		}
	}
	o.inbox, err = inbox.New(inbox.Options{DB: o.db, ReadPool: opts.ReadPool, Schema: opts.Schema, Jobs: o.jobs, Ledger: o.ledger, Export: o.exported})
	if err != nil {
		return nil, err
	}
	o.finder, err = find.New(find.Options{Pool: opts.ReadPool, Schema: opts.Schema, Inbox: o.inbox, Ledger: o.ledger, Export: o.exported})
	if err != nil {
		return nil, err
	}
	o.erasure, err = erasure.New(erasure.Options{DB: o.db, ReadPool: opts.ReadPool, Schema: opts.Schema, Ledger: o.ledger, Export: o.exported, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	refused, err := quarantine.New(quarantine.Options{Pool: opts.ReadPool, Schema: opts.Schema, Ledger: o.ledger})
	if err != nil {
		return nil, err
	}
	o.runs, err = runs.New(runs.Options{
		DB: o.db, ReadPool: opts.ReadPool, Schema: opts.Schema, Jobs: o.jobs, Inbox: o.inbox, Ledger: o.ledger, Erasure: o.erasure, Finder: o.finder, Quarantine: refused,
	})
	if err != nil {
		return nil, err
	}
	o.fleet, err = fleet.New(fleet.Options{DB: o.db, ReadPool: opts.ReadPool, Schema: opts.Schema, Jobs: o.jobs, Ledger: o.ledger, Runs: o.runs})
	if err != nil {
		return nil, err
	}
	o.keeper, err = retention.New(retention.Options{DB: o.db, Pool: opts.Pool, Ledger: o.ledger, Export: o.exported, Schema: opts.Schema, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	if o.coverage, err = coverage.New(coverage.Options{DB: o.db, ReadPool: opts.ReadPool, Ledger: o.ledger, Schema: opts.Schema}); err != nil {
		return nil, err
	}
	if o.moves, err = moves.New(moves.Options{DB: o.db, ReadPool: opts.ReadPool, Ledger: o.ledger, Schema: opts.Schema}); err != nil {
		return nil, err
	}
	o.repairer, err = repair.New(repair.Options{
		DB: o.db, ReadPool: opts.ReadPool, Schema: opts.Schema, Ledger: o.ledger, Runs: o.runs, Fleet: o.fleet, Lacking: o.lackingJobs, Enqueue: o.enqueueLacking,
	})
	if err != nil {
		return nil, err
	}
	o.accepts = commit.NewGroup(o.acceptDB, "accept", commit.GroupOptions[arrival, Acceptance]{
		Run: o.acceptBatch, Weigh: arrival.weigh, Release: arrival.end,
		Inline: true, Committers: opts.Committers, Timeout: opts.AcceptTimeout,
	})
	o.duplicates = commit.NewGroup(o.acceptDB, "note_duplicates", commit.GroupOptions[duplicateNote, struct{}]{
		Run: o.noteDuplicateBatch, Uncertain: true, Committers: 1, Timeout: o.noteTimeout,
	})
	o.counted = newDuplicateCount(o.duplicates.Offer)
	o.overtaken, err = meterOf(opts).Int64Counter("hooklatch.backfill.overtaken",
		metric.WithDescription("Events that a backfill fetched before their webhook arrived."), metric.WithUnit("{event}"))
	if err != nil {
		return nil, fmt.Errorf("outbox options: MeterProvider: %w", err)
	}
	o.retries = newRetryCount(o.noteRetries)
	o.recent = recent.New(o.databaseLife, o.missDatabaseLife)
	if o.shared, err = newSharedEvents(opts, o.recent); err != nil {
		return nil, err
	}
	o.senderKeys = commit.NewGroup(o.acceptDB, "keep_sender_keys", commit.GroupOptions[SenderKey, struct{}]{
		Run: o.keepSenderKeyBatch, Committers: 1, Timeout: o.noteTimeout,
	})
	o.dispatches = commit.NewGroup(o.db, "dispatch", commit.GroupOptions[Dispatch, Dispatched]{
		Run: o.dispatchBatch, Weigh: Dispatch.weigh, Committers: opts.Committers, Patience: patience,
	})
	return o, nil
}

func meterOf(opts Options) metric.Meter {
	return cmp.Or(opts.MeterProvider, otel.GetMeterProvider()).Meter("github.com/hooklatch/hooklatch/outbox")
}

// Ledger returns the ledger of effects, in the same schema.
func (o *Outbox) Ledger() *ledger.Ledger { return o.ledger }

// Fleet returns the registry of destinations and processes, in the same schema.
func (o *Outbox) Fleet() *fleet.Fleet { return o.fleet }

// Inbox returns the store of events, in the same schema.
func (o *Outbox) Inbox() *inbox.Inbox { return o.inbox }

// Finder returns a finder of events and effects, in the same schema. It refuses conditions: see
// find.Finder.With.
func (o *Outbox) Finder() *find.Finder { return o.finder }

// Retention returns the keeper that deletes expired rows, in the same schema.
func (o *Outbox) Retention() *retention.Keeper { return o.keeper }

// Export returns the archive of exported days, or nil if Options.Export is not set.
func (o *Outbox) Export() *export.Archive { return o.exported }

// Erasure returns the eraser of senders' data, in the same schema.
func (o *Outbox) Erasure() *erasure.Eraser { return o.erasure }

// Runs returns the bulk runs, in the same schema. Runs that select by a condition need a Finder
// that compiles the condition: see runs.Runs.With.
func (o *Outbox) Runs() *runs.Runs { return o.runs }

// Repair returns the repairer for a restored or promoted database, in the same schema.
func (o *Outbox) Repair() *repair.Repairer { return o.repairer }

// Coverage returns the coverage of providers' lists, in the same schema.
func (o *Outbox) Coverage() *coverage.Coverage { return o.coverage }

// Moves returns this database's part in moves of sources between cells, in the same schema.
func (o *Outbox) Moves() *moves.Moves { return o.moves }

// Stop refuses new work and waits until all submitted work is committed or has failed, or ctx is
// done. It may be called again.
func (o *Outbox) Stop(ctx context.Context) error {
	return errors.Join(
		o.accepts.Stop(ctx),
		o.dispatches.Stop(ctx),
		o.ledger.Stop(ctx),
		o.recent.Stop(ctx),
		o.retries.runner.Stop(ctx),
		o.counted.runner.Stop(ctx),
		o.duplicates.Stop(ctx), // after counted, which passes its notes to duplicates
		o.senderKeys.Stop(ctx),
		o.jobs.Stop(ctx), // after the groups that insert jobs
	)
}
