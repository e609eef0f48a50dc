package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// lockTimeout lies below deadlock_timeout (1 s by default): a batch that
	// meets somebody's lock goes aside before the server looks for deadlocks.
	lockTimeout = 250 * time.Millisecond

	rollbackTimeout = time.Second

	firstRetryPause = 10 * time.Millisecond
	maxRetryPause   = 250 * time.Millisecond
)

// beginQuery opens every transaction of ours in one round trip with the
// settings the guarantees rest on, whatever the server's defaults are. Without
// synchronous_commit an acknowledged row is lost with the server's process.
func beginQuery(lockWait time.Duration) string {
	return fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL synchronous_commit = on;
SET LOCAL lock_timeout = %d;
SET LOCAL statement_timeout = 5000;
SET LOCAL idle_in_transaction_session_timeout = 5000`, lockWait.Milliseconds())
}

// inTransaction runs f in a transaction on a connection of its own.
func inTransaction(ctx context.Context, pool *pgxpool.Pool, lockWait time.Duration, f func(pgx.Tx) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return &passingError{op: "acquire connection", err: err}
	}
	defer conn.Release()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginQuery(lockWait)})
	if err != nil {
		if conn.Conn().IsClosed() {
			return &passingError{op: "begin", err: err}
		}
		return fmt.Errorf("begin: %w", err)
	}
	if err := f(tx); err != nil {
		lost := conn.Conn().IsClosed()
		rollback(ctx, tx)
		if lost || ctx.Err() != nil {
			return &passingError{op: "write", err: err}
		}
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return commitError(err)
	}
	return nil
}

// rollback does not wait for a server that no longer answers. On a closed
// connection there is nothing to roll back.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // the transaction's own error is the one to report
}

// commitError classifies a failed COMMIT. Only the server's own word says that
// it did not happen; everything else is an unknown outcome. pgconn.SafeToRetry
// is not asked: since pgx 5.9 it calls a lost answer safe to retry.
func commitError(err error) error {
	if _, refused := errors.AsType[*pgconn.PgError](err); refused || errors.Is(err, pgx.ErrTxCommitRollback) {
		return fmt.Errorf("commit: %w", err)
	}
	return &passingError{op: "commit", err: err, ambiguous: true}
}

// passingError is a fault of the connection, not of what was sent over it.
type passingError struct {
	op        string
	err       error
	ambiguous bool // the transaction may have been committed
}

func (e *passingError) Error() string {
	if e.ambiguous {
		return e.op + ": outcome unknown: " + e.err.Error()
	}
	return e.op + ": " + e.err.Error()
}

func (e *passingError) Unwrap() error { return e.err }

// jitter spreads d over 50 to 150 %, so that those who failed together do not
// come back together.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // no secret depends on it
}
