package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// senderPatience is the maximum time that a sender may take to return after its timeout. The
// program adds a second to the configured timeout, so a call ends at most 5 seconds after the
// configured timeout.
const senderPatience = 4 * time.Second

// bounds are a call's timeout, and the time that the call may then take to return.
type bounds struct{ timeout, patience time.Duration }

// onceStopped returns the maximum time for a call to return after a stop has cancelled its attempt.
// It is less than patience, so that the stop ends in time.
func (b bounds) onceStopped() time.Duration { return b.patience * 3 / 4 }

// abandonedError is the error of a call whose sender did not return in time.
type abandonedError struct{ bounds }

func (e *abandonedError) Error() string {
	return fmt.Sprintf("the sender did not return within its timeout of %s plus %s: the attempt was abandoned", e.timeout, e.patience)
}

func isAbandoned(err error) bool {
	_, ok := errors.AsType[*abandonedError](err)
	return ok
}

// returned is the result of a call.
type returned[T any] struct {
	result T
	err    error
}

// callSender makes every call from the worker to a sender. It calls f, which calls the sender of l,
// in a separate goroutine. If f does not return within its bounds, or soon after a stop cancelled
// ctx, callSender returns an abandonedError. It drops any later result of f. So callers do not
// depend on senders to honour their context. f and its caller must not share memory to which either
// of them writes. A panic of f becomes a panicError.
func callSender[T any](ctx context.Context, l *served, b bounds, f func(ctx context.Context) T) (T, error) {
	stopped := ctx.Done()
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	results := make(chan returned[T], 1)
	var over atomic.Bool // the goroutine that sets it first decides whether f is abandoned
	go func() {
		made := protected(ctx, f)
		if over.Swap(true) {
			l.Returned()
			return
		}
		results <- made
	}()
	select {
	case made := <-results:
		return made.result, made.err
	case <-ctx.Done():
	}
	limit := time.NewTimer(b.patience)
	defer limit.Stop()
	for waiting := true; waiting; {
		select {
		case made := <-results:
			return made.result, made.err
		case <-stopped:
			stopped = nil
			limit.Reset(b.onceStopped())
		case <-limit.C:
			waiting = false
		}
	}
	l.Abandon()
	if over.Swap(true) { // f returned just now
		l.Returned()
		made := <-results
		return made.result, made.err
	}
	var none T
	return none, &abandonedError{b}
}

func protected[T any](ctx context.Context, f func(ctx context.Context) T) (made returned[T]) {
	defer func() {
		if v := recover(); v != nil {
			made.err = newPanicError(v)
		}
	}()
	made.result = f(ctx)
	return made
}

// send calls the sender of l. If the sender panics or does not return, the verdict is
// VerdictMaybeApplied: the request may have been sent. The sender gets its own copy of the effect,
// which an abandoned sender may still read.
func (a *attempter) send(ctx context.Context, l *served, effect *ledger.Effect) destination.Outcome {
	own := *effect
	out, err := callSender(ctx, l, bounds{l.Timeout, a.patience}, func(ctx context.Context) destination.Outcome {
		return l.Sender.Send(ctx, &own)
	})
	if err != nil {
		return destination.Outcome{Verdict: ledger.VerdictMaybeApplied, Err: err}
	}
	return out
}

// runStatement calls a Transactional sender. Postgres itself ends a statement at the timeout, so
// the context ends a little later. After a panic of the sender, the transaction is broken and
// rolled back. If the sender does not return, its connection is closed, so none of its work can be
// committed.
func (a *attempter) runStatement(ctx context.Context, l *served, run inTx, tx pgx.Tx, e ledger.Effect) (destination.Outcome, error) {
	half, fenced := a.patience/2, newFencedTx(tx)
	ran, err := callSender(ctx, l, bounds{l.Timeout + half, half}, func(ctx context.Context) (ran returned[destination.Outcome]) {
		ran.result, ran.err = run(ctx, fenced, &e)
		return ran
	})
	if isAbandoned(err) {
		fenced.abandon()
	}
	if err != nil {
		return destination.Outcome{}, err
	}
	return ran.result, ran.err
}
