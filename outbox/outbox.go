package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	// meterName is the scope of our metrics.
	meterName = "github.com/hooklatch/hooklatch/outbox"

	defaultAcceptTimeout = 2 * time.Second
	defaultCommitters    = 2

	// workTimeout bounds one dispatch, claim or settlement. Nobody outside
	// waits for them, so they may outlast a short outage.
	workTimeout = 10 * time.Second
	noteTimeout = 5 * time.Second

	// maxWaiting bounds how many members wait for a group commit. At 64 a
	// batch that is 64 batches, more than AcceptTimeout has time for.
	maxWaiting = 4096
)

// Options configure an Outbox.
type Options struct {
	// Pool is the database, migrated. Dispatches, claims and settlements, effects
	// in the same Postgres (RunTx) and what operators order use it. It and
	// AcceptPool must be prepared where the server replicates synchronously: see
	// PreparePool. Required.
	Pool *pgxpool.Pool
	// AcceptPool is what Accept, the count of duplicates, keys of senders and
	// CanCommit use, on the same database. RunTx and handlers hold a connection of Pool for as
	// long as they run: a process that accepts beside them should give one of at
	// least 8 connections here, or deliveries wait for them. Defaults to Pool.
	AcceptPool *pgxpool.Pool
	// ReadPool is what lists and counts for people use, on the same database:
	// they may read much, and must keep nobody waiting. Defaults to Pool.
	ReadPool *pgxpool.Pool
	// Schema holds the tables. Defaults to schema.Default.
	Schema schema.Name
	// AcceptTimeout bounds one Accept, waiting included. Defaults to 2 seconds.
	AcceptTimeout time.Duration
	// Committers is how many group commits of one kind may be in flight at
	// once, each on a connection of its pool. Defaults to 2.
	Committers int
	// ConsoleURL is where the console shows events and effects; links to it go
	// into the metadata of jobs. Empty: no links.
	ConsoleURL string
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// MeterProvider defaults to the global one.
	MeterProvider metric.MeterProvider
}

func (opts Options) withDefaults() Options {
	opts.Schema = opts.Schema.OrDefault()
	opts.AcceptPool = cmp.Or(opts.AcceptPool, opts.Pool)
	opts.ReadPool = cmp.Or(opts.ReadPool, opts.Pool)
	if opts.AcceptTimeout == 0 {
		opts.AcceptTimeout = defaultAcceptTimeout
	}
	if opts.Committers == 0 {
		opts.Committers = defaultCommitters
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
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
		return fmt.Errorf("AcceptTimeout is %s, it must be positive", opts.AcceptTimeout)
	}
	if opts.Committers < 0 {
		return fmt.Errorf("Committers is %d, it must be positive", opts.Committers)
	}
	return nil
}

// Outbox is the inbox and the ledger of effects in one Postgres schema. It is
// safe for concurrent use.
type Outbox struct {
	pool       *pgxpool.Pool // for work
	acceptPool *pgxpool.Pool // for T1
	readPool   *pgxpool.Pool // for people
	schema     schema.Name
	sql        statements
	jobs       *riverjob.Inserter
	logger     *slog.Logger

	accepts     *groupCommit[arrival, Acceptance]
	duplicates  *groupCommit[duplicateNote, struct{}]
	senderKeys  *groupCommit[SenderKey, struct{}]
	dispatches  *groupCommit[Dispatch, Dispatched]
	claims      *groupCommit[Claim, Claimed]
	settlements *groupCommit[Settlement, Settled]
	unanswered  *unanswered
}

// New returns an Outbox on a migrated database. It starts nothing: committers
// run only while there is something to commit.
func New(opts Options) (*Outbox, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("outbox options: %w", err)
	}
	sql, err := loadStatements(opts.Schema)
	if err != nil {
		return nil, err
	}
	jobs, err := riverjob.NewInserter(riverjob.InserterOptions{Pool: opts.Pool, Schema: opts.Schema, ConsoleURL: opts.ConsoleURL, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	batchSize, err := opts.MeterProvider.Meter(meterName).Int64Histogram("hooklatch.batch.size",
		metric.WithUnit("{member}"),
		metric.WithDescription("Members of one group commit."),
		metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64))
	if err != nil {
		return nil, fmt.Errorf("batch size metric: %w", err)
	}
	o := &Outbox{
		pool:       opts.Pool,
		acceptPool: opts.AcceptPool,
		readPool:   opts.ReadPool,
		schema:     opts.Schema,
		sql:        sql,
		jobs:       jobs,
		logger:     opts.Logger,
	}
	common := commitOptions{pool: opts.Pool, committers: opts.Committers, queueCap: maxWaiting, timeout: workTimeout, batchSize: batchSize}
	accepting := common
	accepting.pool, accepting.timeout = opts.AcceptPool, opts.AcceptTimeout
	noting := accepting
	noting.committers, noting.timeout = 1, noteTimeout
	o.accepts = newGroupCommit("accept", accepting, o.acceptBatch, arrival.weigh)
	o.accepts.release = func(a arrival) { a.release() }
	o.duplicates = newGroupCommit("note_duplicates", noting, o.noteDuplicateBatch, one[duplicateNote])
	o.senderKeys = newGroupCommit("keep_sender_keys", noting, o.keepSenderKeyBatch, one[SenderKey])
	o.dispatches = newGroupCommit("dispatch", common, o.dispatchBatch, Dispatch.weigh)
	o.claims = newGroupCommit("claim", common, o.claimBatch, one[Claim])
	o.unanswered = newUnanswered(o.takeBack, opts.Logger)
	o.claims.unheard = o.unanswered.add
	o.settlements = newGroupCommit("settle", common, o.settleBatch, one[Settlement])
	return o, nil
}

// one weighs members that are all alike.
func one[M any](M) (items, size int) { return 1, 0 }

// Stop refuses what is new and waits until everything that was submitted is
// committed, or ctx is done. It may be called again.
func (o *Outbox) Stop(ctx context.Context) error {
	return errors.Join(
		o.accepts.stop(ctx),
		o.dispatches.stop(ctx),
		o.claims.stop(ctx),
		o.unanswered.stop(ctx),
		o.settlements.stop(ctx),
		o.duplicates.stop(ctx),
		o.senderKeys.stop(ctx),
	)
}
