package hooktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// maxStatements is the number of the last statement after which a handler is interrupted.
// Interruptions after later statements are not tried.
const maxStatements = 20

// run is the handler as the worker calls it. The plan disturbs the first run of each event.
func (t *trial) run(ctx context.Context, tx pgx.Tx, e inbox.Event) error {
	first := t.first(e.EventRef)
	if first && t.disturb == doubled {
		ctx := outbox.ContextWithEvent(t.ctx, &e)              // a process that was cut off does not notice that its run is over
		t.behind.Go(func() { _, _ = t.rolledBack(ctx, e, 0) }) // no caller receives the result
	}
	if first && t.disturb == crashing {
		for after := 1; after <= maxStatements; after++ {
			interrupted, err := t.rolledBack(ctx, e, after)
			if err != nil {
				return err
			}
			if !interrupted {
				break
			}
		}
	}
	err := t.call(ctx, tx, e)
	switch {
	case err != nil:
		t.mu.Lock()
		t.errors[e.EventRef] = append(t.errors[e.EventRef], err)
		t.mu.Unlock()
		return worker.RetryIn(0, err)
	case first && t.disturb == crashing:
		_, err := tx.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
		return worker.RetryIn(0, fmt.Errorf("the connection was cut: %w", err))
	}
	return nil
}

// first reports whether this is the first run of the event.
func (t *trial) first(ref identity.EventRef) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	begun := t.begun[ref]
	t.begun[ref] = true
	return !begun
}

// rolledBack runs the handler in a transaction that never commits, and cancels the handler after a
// number of statements, or never if the number is 0. It reports whether the handler was cancelled.
func (t *trial) rolledBack(ctx context.Context, e inbox.Event, after int) (interrupted bool, err error) {
	tx, err := t.DB.Begin(ctx)
	if err != nil {
		return false, fmt.Errorf("begin a run that is rolled back: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // a broken connection also rolls back
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_ = t.call(ctx, &interruptedTx{Tx: tx, left: &after, cancel: cancel}, e) // a run that is cut off reports nothing
	return errors.Is(context.Cause(ctx), errInterrupted), nil
}

// call calls the handler itself, and returns a panic as an error.
func (t *trial) call(ctx context.Context, tx pgx.Tx, e inbox.Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return t.handle(ctx, tx, e)
}

var errInterrupted = errors.New("hooktest interrupts the handler here")

// interruptedTx cancels the context of a handler after a number of statements.
type interruptedTx struct {
	pgx.Tx

	left   *int // remaining statements; shared with nested transactions
	cancel context.CancelCauseFunc
}

func (t *interruptedTx) ran() {
	if *t.left--; *t.left == 0 {
		t.cancel(errInterrupted)
	}
}

// AfterCommit drops the function, because this transaction never commits. The worker's transactions
// have the same method.
func (t *interruptedTx) AfterCommit(func()) {}

// Begin implements pgx.Tx.
func (t *interruptedTx) Begin(ctx context.Context) (pgx.Tx, error) {
	nested, err := t.Tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &interruptedTx{Tx: nested, left: t.left, cancel: t.cancel}, nil
}

// Exec implements pgx.Tx.
func (t *interruptedTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	defer t.ran()
	return t.Tx.Exec(ctx, sql, args...)
}

// Query implements pgx.Tx. Rows that have arrived can be read after the interruption.
func (t *interruptedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	defer t.ran()
	return t.Tx.Query(ctx, sql, args...)
}

// QueryRow implements pgx.Tx.
func (t *interruptedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	defer t.ran()
	return t.Tx.QueryRow(ctx, sql, args...)
}

// SendBatch implements pgx.Tx.
func (t *interruptedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	defer t.ran()
	return t.Tx.SendBatch(ctx, b)
}

// CopyFrom implements pgx.Tx.
func (t *interruptedTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	defer t.ran()
	return t.Tx.CopyFrom(ctx, table, columns, rows)
}

// accepting is a destination that accepts every effect.
type accepting struct{}

// Kind implements destination.Sender.
func (accepting) Kind() string { return destination.KindHTTP }

// FirstRequest implements destination.Sender.
func (accepting) FirstRequest(*ledger.Effect) ledger.Request { return ledger.Request{} }

// Send implements destination.Sender.
func (accepting) Send(context.Context, *ledger.Effect) destination.Outcome {
	return destination.Outcome{Verdict: ledger.VerdictDone}
}
