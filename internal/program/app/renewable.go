package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// renewableHTTP is an http destination whose secrets may change. An attempt keeps the secrets with
// which it began.
type renewableHTTP struct {
	current atomic.Pointer[destination.HTTP]
}

var _ interface {
	destination.Sender
	destination.TimeLimited
	destination.HeaderOwner
	destination.HeaderChecker
	destination.Messenger
	destination.StateReader
} = (*renewableHTTP)(nil)

// renew replaces the sender. The new sender differs only in its secrets.
func (r *renewableHTTP) renew(next *destination.HTTP) {
	if former := r.current.Swap(next); former != nil {
		_ = former.Close() // Close never fails: attempts in progress continue
	}
}

// Kind implements destination.Sender.
func (r *renewableHTTP) Kind() string { return r.current.Load().Kind() }

// FirstRequest implements destination.Sender.
func (r *renewableHTTP) FirstRequest(e *ledger.Effect) ledger.Request {
	return r.current.Load().FirstRequest(e)
}

// Send implements destination.Sender.
func (r *renewableHTTP) Send(ctx context.Context, e *ledger.Effect) destination.Outcome {
	return r.current.Load().Send(ctx, e)
}

// Timeout implements destination.TimeLimited.
func (r *renewableHTTP) Timeout() time.Duration { return r.current.Load().Timeout() }

// OwnHeaders implements destination.HeaderOwner.
func (r *renewableHTTP) OwnHeaders() []string { return r.current.Load().OwnHeaders() }

// CheckHeader implements destination.HeaderChecker.
func (r *renewableHTTP) CheckHeader(name, value string) error {
	return r.current.Load().CheckHeader(name, value)
}

// Message implements destination.Messenger.
func (r *renewableHTTP) Message(text string) ([]byte, bool) { return r.current.Load().Message(text) }

// Fetch implements destination.StateReader.
func (r *renewableHTTP) Fetch(ctx context.Context, url string) ([]byte, *destination.Outcome) {
	return r.current.Load().Fetch(ctx, url)
}

// close closes idle connections.
func (r *renewableHTTP) close() error { return r.current.Load().Close() }

// renewableEmail is an smtp destination whose password may change.
type renewableEmail struct {
	current atomic.Pointer[destination.Email]
}

var _ interface {
	destination.Sender
	destination.TimeLimited
} = (*renewableEmail)(nil)

func (r *renewableEmail) renew(next *destination.Email) { r.current.Store(next) }

// Kind implements destination.Sender.
func (r *renewableEmail) Kind() string { return r.current.Load().Kind() }

// FirstRequest implements destination.Sender.
func (r *renewableEmail) FirstRequest(e *ledger.Effect) ledger.Request {
	return r.current.Load().FirstRequest(e)
}

// Send implements destination.Sender.
func (r *renewableEmail) Send(ctx context.Context, e *ledger.Effect) destination.Outcome {
	return r.current.Load().Send(ctx, e)
}

// Timeout implements destination.TimeLimited.
func (r *renewableEmail) Timeout() time.Duration { return r.current.Load().Timeout() }
