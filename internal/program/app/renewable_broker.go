package app

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// broker is a sender that publishes to a message broker.
type broker interface {
	destination.Sender
	destination.TimeLimited
	destination.HeaderChecker
	io.Closer
}

// renewableBroker is a message broker destination whose secrets may change. An attempt keeps the
// secrets with which it began.
type renewableBroker struct {
	current atomic.Pointer[broker]
}

var _ interface {
	destination.Sender
	destination.TimeLimited
	destination.HeaderChecker
} = (*renewableBroker)(nil)

// renew replaces the sender. The new sender differs only in its secrets.
func (r *renewableBroker) renew(next broker) {
	if former := r.current.Swap(&next); former != nil {
		_ = (*former).Close() // Close never fails: attempts in progress continue
	}
}

func (r *renewableBroker) sender() broker { return *r.current.Load() }

// Kind implements destination.Sender.
func (r *renewableBroker) Kind() string { return r.sender().Kind() }

// FirstRequest implements destination.Sender.
func (r *renewableBroker) FirstRequest(e *ledger.Effect) ledger.Request {
	return r.sender().FirstRequest(e)
}

// Send implements destination.Sender.
func (r *renewableBroker) Send(ctx context.Context, e *ledger.Effect) destination.Outcome {
	return r.sender().Send(ctx, e)
}

// Timeout implements destination.TimeLimited.
func (r *renewableBroker) Timeout() time.Duration { return r.sender().Timeout() }

// CheckHeader implements destination.HeaderChecker.
func (r *renewableBroker) CheckHeader(name, value string) error {
	return r.sender().CheckHeader(name, value)
}
