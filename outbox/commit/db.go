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

// meterName is the scope of Hooklatch's metrics.
const meterName = "github.com/hooklatch/hooklatch/outbox"

// doTimeout is the default of Limits.Timeout and GroupOptions.Timeout. It is long enough to outlast
// a short outage: no sender waits for a transaction with this default.
const doTimeout = 10 * time.Second

// Options configure a DB.
type Options struct {
	// Pool must be prepared if the server replicates synchronously: see PreparePool. Required.
	Pool *pgxpool.Pool
	// MeterProvider creates the meters. Defaults to the global provider.
	MeterProvider metric.MeterProvider
}

// DB runs Hooklatch's transactions on a database. Each transaction has a name, begins with the
// settings that the guarantees rely on, and is retried after a temporary fault or an unknown
// outcome.
type DB struct {
	pool      *pgxpool.Pool
	batchSize metric.Int64Histogram
}

// New returns a DB on a pool, which the caller still owns.
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

// Name identifies a transaction in errors, metrics and failpoints. All names are constants in the
// code, so that tests can find them and inject a fault into each transaction.
type Name string

// Limits apply to one transaction. Zero values select the defaults.
type Limits struct {
	// Timeout limits all tries of the transaction together. Defaults to 10 seconds. Ignored with
	// Once.
	Timeout time.Duration
	// Statement limits each statement of the transaction. Defaults to 5 seconds.
	Statement time.Duration
	// Foreign is true if the transaction also runs an application's statements. All its statements
	// are then planned with the server's settings.
	Foreign bool
	// Once is for a check that may fail: the transaction is not retried, and is cancelled with the
	// caller's context.
	Once bool
	// Recurring is for work that its caller repeats anyway, such as upkeep. The tries also end when
	// the caller's context is cancelled, so that a stop does not wait for them. The caller's
	// deadline does not end them. A COMMIT that was cancelled has an unknown outcome.
	Recurring bool
	// Undo is for trials: the transaction ends with ROLLBACK instead of COMMIT.
	Undo bool
}

// Do runs f in its own transaction and commits it. It is for work that is too rare or too long to
// share a transaction. After a temporary fault, a lock wait or an unknown outcome, Do retries until
// limits.Timeout has passed. Without limits.Once or limits.Recurring, ctx does not cancel the
// transaction. If repeated is true, an earlier try may have been committed: f must recognise its own
// rows. Errors: ErrUnavailable, ErrPoolNotPrepared, and errors from f and from COMMIT.
func (db *DB) Do(ctx context.Context, name Name, limits Limits, f func(ctx context.Context, tx pgx.Tx, repeated bool) error) error {
	settings := shared(lockTimeout)
	settings.statement = cmp.Or(limits.Statement, settings.statement)
	settings.ours, settings.undo = !limits.Foreign, limits.Undo
	if limits.Once {
		err := inTransaction(ctx, db.pool, name, settings, func(ctx context.Context, tx pgx.Tx) error { return f(ctx, tx, false) })
		return unavailable(name, err)
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(limits.Timeout, doTimeout))
	defer cancel()
	if limits.Recurring {
		stopped := func() {
			if errors.Is(caller.Err(), context.Canceled) {
				cancel()
			}
		}
		stopped() // also called directly, because AfterFunc calls it in a goroutine, which may run too late
		defer context.AfterFunc(caller, stopped)()
	}
	repeated := false
	var refused error // the server's last refusal
	err := db.untilKnown(ctx, &settings, attempts{
		name: name,
		run:  func(ctx context.Context, tx pgx.Tx) error { return f(ctx, tx, repeated) },
		again: func(err error) bool {
			if sqlstate.Answered(err) {
				refused = err
			}
			return isTransient(err) || isLockWait(err)
		},
		doubt: func() { repeated = true },
	})
	if err != nil && ctx.Err() != nil && !isAmbiguous(err) { // the time limit was reached during a later try
		err = cmp.Or(refused, err)
	}
	return unavailable(name, err)
}

// Statement runs f on the pool, outside a transaction. It is for look-ups, and for a single write
// whose loss in a server failure is harmless. Statement does not retry f. Errors: ErrUnavailable,
// and errors from f.
func (db *DB) Statement(name Name, f func(db pipeline.ByIndex) error) error {
	return unavailable(name, f(pipeline.ByIndex{Sender: db.pool, Once: true}))
}

// unavailable wraps err in ErrUnavailable if the same call may be repeated. Such errors are
// temporary faults, lock waits, and errors of a server that is away.
func unavailable(name Name, err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) || !isTransient(err) && !isLockWait(err) && !sqlstate.Away(err) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, name, err)
}

// attempts describes how one transaction is tried.
type attempts struct {
	name  Name
	run   func(ctx context.Context, tx pgx.Tx) error
	again func(error) bool // reports whether another try may succeed
	doubt func()           // called when a try may have been committed
}

// retryPauses are the pauses between the tries of one transaction.
var retryPauses = retry.Pauses{First: 10 * time.Millisecond, Max: 250 * time.Millisecond, Spread: true}

// untilKnown tries a transaction until it is known to be committed or refused, or ctx is done.
// Every try acquires a connection anew. After a try that may have been committed, the COMMIT of every
// later try waits for the standby, even if that try writes nothing.
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
		if sqlstate.Demoted(err) {
			// The server was demoted, and every pooled connection still leads to it.
			db.pool.Reset()
		}
	}
	return err
}
