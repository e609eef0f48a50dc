package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

// meterName is the scope of our metrics.
const meterName = "github.com/hooklatch/hooklatch/outbox"

// doTimeout bounds a transaction that has no other limit. No external caller waits for it, so
// it may outlast a short outage.
const doTimeout = 10 * time.Second

// Options configure a DB.
type Options struct {
	// Pool must be prepared if the server replicates synchronously: see PreparePool. Required.
	Pool *pgxpool.Pool
	// MeterProvider makes the meters. Defaults to the global one.
	MeterProvider metric.MeterProvider
}

// DB is the one door to a database through which we write. Every transaction has a name, begins
// with the settings that the guarantees rely on, and is retried after a temporary fault or an
// unknown outcome.
type DB struct {
	pool      *pgxpool.Pool
	batchSize metric.Int64Histogram
}

// New returns a DB on a pool that stays the caller's.
func New(opts Options) (*DB, error) {
	if opts.Pool == nil {
		return nil, errors.New("Pool is required")
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	batchSize, err := opts.MeterProvider.Meter(meterName).Int64Histogram("hooklatch.batch.size",
		metric.WithUnit("{member}"),
		metric.WithDescription("Members of one group commit."),
		metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64))
	if err != nil {
		return nil, fmt.Errorf("batch size metric: %w", err)
	}
	return &DB{pool: opts.Pool, batchSize: batchSize}, nil
}

// Name names a transaction in errors, metrics and failpoints. It is a constant in the code, so
// that tests that inject a fault at each transaction find all names there.
type Name string

// Limits bound one transaction. Zero values are the defaults.
type Limits struct {
	// Timeout bounds all its tries together. Defaults to 10 seconds.
	Timeout time.Duration
	// Statement bounds each of its statements. Defaults to 5 seconds.
	Statement time.Duration
	// Whether statements of an application run in it too. All its statements are then planned
	// with the server's settings.
	Foreign bool
	// Once is for a query whose answer may be no: it is not retried, and is cancelled with the
	// caller's context.
	Once bool
	// Undo is for trials: the transaction ends with ROLLBACK instead of COMMIT.
	Undo bool
}

// Do runs f in its own transaction, for work that is too rare or too long to share one, and
// commits it. Like a group commit it retries on a fresh connection after a temporary fault,
// another's lock or an unknown outcome, until its time is over. ctx does not cancel it.
// repeated reports that an earlier try may have been committed: f must recognise its own rows.
// Errors: ErrUnavailable, and those of f.
func (db *DB) Do(ctx context.Context, name Name, limits Limits, f func(ctx context.Context, tx pgx.Tx, repeated bool) error) error {
	settings := shared(lockTimeout)
	settings.statement = cmp.Or(limits.Statement, settings.statement)
	settings.ours, settings.undo = !limits.Foreign, limits.Undo
	if limits.Once {
		err := inTransaction(ctx, db.pool, name, settings, func(tx pgx.Tx) error { return f(ctx, tx, false) })
		return unavailable(name, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(limits.Timeout, doTimeout))
	defer cancel()
	repeated := false
	err := db.untilKnown(ctx, &settings, attempts{
		name:  name,
		run:   func(tx pgx.Tx) error { return f(ctx, tx, repeated) },
		again: func(err error) bool { return isTransient(err) || isLockWait(err) },
		doubt: func() { repeated = true },
	})
	return unavailable(name, err)
}

// Statement runs f on the pool, outside a transaction of ours. It is for look-ups, and for a
// single write whose loss with the server is harmless. It is not retried. Errors:
// ErrUnavailable, and those of f.
func (db *DB) Statement(name Name, f func(db pipeline.ByIndex) error) error {
	return unavailable(name, f(pipeline.ByIndex{Sender: db.pool}))
}

// unavailable wraps a temporary fault in ErrUnavailable: the same call may be repeated.
func unavailable(name Name, err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) || !isTransient(err) && !isLockWait(err) && !sqlstate.Away(err) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, name, err)
}

// attempts are the tries of one transaction.
type attempts struct {
	name  Name
	run   func(tx pgx.Tx) error
	again func(error) bool // whether another try may succeed
	doubt func()           // called when a try may have been committed
}

// retryPauses are the pauses between the tries of one transaction.
var retryPauses = retry.Pauses{First: 10 * time.Millisecond, Max: 250 * time.Millisecond, Spread: true}

// untilKnown tries a transaction until it is known to be committed or refused, or ctx is done.
// Every try has its own connection. After a try that may have been committed, COMMIT waits for
// the standby whatever the next one writes.
func (db *DB) untilKnown(ctx context.Context, settings *txSettings, a attempts) error {
	var err error
	for range retryPauses.Until(ctx) {
		if err = inTransaction(ctx, db.pool, a.name, *settings, a.run); err == nil || !a.again(err) {
			return err
		}
		if isAmbiguous(err) {
			settings.confirm = true
			a.doubt()
		}
		if sqlstate.Is(err, sqlstate.ReadOnly) {
			// The server was demoted: every pooled connection still points at it.
			db.pool.Reset()
		}
	}
	return err
}
