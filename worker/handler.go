package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/wildcard"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/worker/route"
)

// HandlerFunc handles one event inside the transaction of its dispatch. Its writes with tx are
// committed together with the event's dispatch and its effects, once for each event (I10), or
// not at all.
//
// A HandlerFunc must use only tx for work that must happen once, must not commit or roll back tx,
// and must return when ctx is done. An error rolls everything back, and the event is dispatched
// again later, until its attempts are used up. ctx carries the span of the dispatch, and the event
// to which EnqueueTx links effects. It carries none of River's values.
type HandlerFunc func(ctx context.Context, tx pgx.Tx, e inbox.Event) error

// registration is a handler that was registered with Worker.Handle.
type registration struct {
	source string // or route.EverySource
	types  string // see package wildcard
	handle HandlerFunc
}

// handlerSet lists handlers in registration order.
type handlerSet []registration

func (r registration) validate() error {
	switch {
	case r.source == "":
		return errors.New("source is empty")
	case r.types == "":
		return errors.New("event type is empty")
	case r.handle == nil:
		return errors.New("function is nil")
	}
	return nil
}

// serves reports whether any handler is registered for the source.
func (s handlerSet) serves(source string) bool {
	for _, r := range s {
		if r.source == source || r.source == route.EverySource {
			return true
		}
	}
	return false
}

// matching returns the handlers for one event, in registration order.
func (s handlerSet) matching(source, eventType string) handlerSet {
	var matched handlerSet
	for _, r := range s {
		if (r.source == source || r.source == route.EverySource) && wildcard.Match(r.types, eventType) {
			matched = append(matched, r)
		}
	}
	return matched
}

// run calls the handlers one after another and stops at the first error.
func (s handlerSet) run(ctx context.Context, tx pgx.Tx, e *inbox.Event, run dispatchRun, t *telemetry) error {
	for _, r := range s {
		start := time.Now()
		err := r.call(hideRiver(ctx, e), tx, *e)
		took := time.Since(start)
		outcome := outcomeDone
		if err != nil {
			outcome = outcomeError
			err = fmt.Errorf("handler of %s %s: %w", r.source, r.types, err)
		}
		t.handlers.Add(ctx, 1, t.labels.of(label{where: attrSource, name: string(e.Source), outcome: outcome, first: run.first()}))
		t.tally.handler(e.Source, run.first(), outcome, took)
		attrs := append(run.attrs(e),
			slog.String(logkey.Outcome, outcome),
			slog.Float64(logkey.Duration, took.Seconds()),
			errAttr(err))
		if panicked, ok := errors.AsType[*handlerPanicError](err); ok {
			attrs = append(attrs, slog.String(logkey.Stack, panicked.stack))
		}
		t.logger.LogAttrs(ctx, levelOf(err), "handler ran", attrs...)
		if err != nil {
			return err
		}
	}
	return nil
}

// handlerPanicError is a panic with its stack, for the log.
type handlerPanicError struct {
	*panicError

	stack string
}

func (r registration) call(ctx context.Context, tx pgx.Tx, e inbox.Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &handlerPanicError{panicError: newPanicError(v), stack: string(debug.Stack())}
		}
	}()
	return r.handle(ctx, tx, e)
}

// handlersTx is the transaction in which handlers write. Like the transactions of package commit,
// it calls functions after its commit, because queues are notified of new jobs outside the
// transaction.
type handlersTx struct {
	pgx.Tx

	committed []func()
}

// AfterCommit registers f to be called after the transaction is committed.
func (t *handlersTx) AfterCommit(f func()) { t.committed = append(t.committed, f) }

func (t *handlersTx) tell() {
	for _, f := range t.committed {
		f()
	}
}

// hiddenContext has the deadline and the cancellation of the job's context, but not its values.
// Through these values, a handler could record an output or metadata that River's completer cannot
// store.
type hiddenContext struct {
	context.Context

	values context.Context
}

func hideRiver(ctx context.Context, e *inbox.Event) context.Context {
	values := trace.ContextWithSpan(outbox.ContextWithEvent(context.Background(), e), trace.SpanFromContext(ctx))
	return hiddenContext{Context: ctx, values: values}
}

// Value implements context.Context.
func (c hiddenContext) Value(key any) any { return c.values.Value(key) }

// Payload decodes the event's JSON into a T, for handlers. If a delivery contains many events,
// Payload decodes this event's part. Fields that T lacks are ignored, because providers may add
// fields at any time.
func Payload[T any](e inbox.Event) (T, error) {
	var value T
	if err := json.Unmarshal(jsonpointer.WithoutMark(e.Payload()), &value); err != nil {
		var none T
		return none, fmt.Errorf("decode payload of %s: %w", e.EventRef, err)
	}
	return value, nil
}

// RetryIn returns a handler error that delays the next dispatch of the event by d, instead of by
// the usual backoff. Like every handler error, it rolls back all writes and counts as one of the
// event's 25 attempts. A nil cause is allowed.
func RetryIn(d time.Duration, cause error) error { return &retryInError{wait: d, cause: cause} }

type retryInError struct {
	wait  time.Duration
	cause error
}

func (e *retryInError) Error() string {
	if e.cause == nil {
		return "again in " + e.wait.String()
	}
	return e.cause.Error() + ", again in " + e.wait.String()
}

func (e *retryInError) Unwrap() error { return e.cause }

// GiveUp returns a handler error that fails the event immediately, with the reason. All writes are
// rolled back. An operator can replay the event.
func GiveUp(reason string) error { return &giveUpError{reason: reason} }

type giveUpError struct{ reason string }

func (e *giveUpError) Error() string { return "given up: " + e.reason }

// retryWait returns the wait that the error specifies, if any.
func retryWait(err error) (time.Duration, bool) {
	asked, ok := errors.AsType[*retryInError](err)
	if !ok {
		return 0, false
	}
	return max(asked.wait, minSnooze), true
}

func isGivenUp(err error) bool {
	_, ok := errors.AsType[*giveUpError](err)
	return ok
}
