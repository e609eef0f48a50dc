// Package destination sends effects: it makes one attempt at a time, reaches
// only addresses the operator allowed, and tells what came of the attempt.
package destination

import (
	"context"
	"errors"
	"time"

	"github.com/hooklatch/hooklatch/outbox"
)

// Sender performs one attempt of an effect. It is safe for concurrent use.
type Sender interface {
	// Kind is what sort of destination it is: "http", "email" or "sql".
	Kind() string
	// FirstRequest is what the destination adds to the request at the first
	// claim, without secrets. Only what the ledger has not got yet is taken.
	FirstRequest(e *outbox.Effect) outbox.Request
	// Send makes one attempt, within its own time-out. It puts the request on
	// the wire at most once, and never retries by itself.
	Send(ctx context.Context, e *outbox.Effect) Outcome
}

var (
	_ Sender = (*HTTP)(nil)
	_ Sender = (*Email)(nil)
)

// Outcome is what one attempt came to.
type Outcome struct {
	Verdict outbox.Verdict
	// Status is the HTTP or SMTP status, 0 without an answer.
	Status int
	// Excerpt is at most 2 KiB of the answer: valid UTF-8 on one line, without
	// control characters and without the secrets of the destination.
	Excerpt string
	// Err is nil when done. It is one line, without any part of the answer's
	// body, without secrets and without query strings.
	Err error
	// StoredError is true when the receiver did not look at the request again,
	// but replayed the error it had stored for the key: trying again
	// under the same key is useless.
	StoredError bool
	// NeedsPerson is true when nothing was sent, and nothing will be until a
	// person has changed the configuration or the effect.
	NeedsPerson bool
	// RetryAfter is how long the receiver asked to wait; 0 when it did not.
	RetryAfter time.Duration
}

// needsPerson says that an attempt was not made, and why only a person can
// change that.
func needsPerson(err error) Outcome {
	return Outcome{Verdict: outbox.VerdictNotApplied, Err: errors.New(oneLine(err.Error())), NeedsPerson: true}
}

// refused says that an attempt ended for good before anything was sent.
func refused(text string) Outcome {
	return Outcome{Verdict: outbox.VerdictRefused, Err: errors.New(oneLine(text))}
}
