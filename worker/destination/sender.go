// Package destination sends effects: it makes one attempt at a time, reaches only
// addresses the operator allowed, and reports the outcome.
package destination

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// What Sender.Kind may say: it decides what a route renders.
const (
	KindHTTP  = "http"
	KindEmail = "email"
	KindSQL   = "sql"
)

// Sender performs one attempt of an effect. It is safe for concurrent use. What
// else it can do it says by implementing any of the interfaces below; each is
// asked for where it says so, and only there. A Sender that wraps another must
// implement those that it wants to pass on.
type Sender interface {
	// Kind is what sort of destination it is: "http", "email" or "sql".
	Kind() string
	// FirstRequest is what the destination adds to the request at the first
	// claim, without secrets. Only what the ledger has not got yet is taken.
	FirstRequest(e *ledger.Effect) ledger.Request
	// Send makes one attempt, within its own time-out. It puts the request on
	// the wire at most once, and never retries by itself.
	Send(ctx context.Context, e *ledger.Effect) Outcome
}

// TimeLimited is a Sender that knows how long an attempt may take. Asked when a
// worker is made, for a destination that has no time-out of its own there.
type TimeLimited interface {
	// Timeout is the longest an attempt takes.
	Timeout() time.Duration
}

// HeaderOwner is a Sender that sets headers itself. Asked when routes are
// compiled: a delivery that is forwarded does not bring these along.
type HeaderOwner interface {
	// OwnHeaders are their names in canonical form.
	OwnHeaders() []string
}

// HeaderChecker is a Sender that does not take every header. Asked when routes
// are compiled, for each header that a route sets.
type HeaderChecker interface {
	// CheckHeader says why a request may not bring this header. The value is empty
	// as long as it is not known.
	CheckHeader(name, value string) error
}

// Messenger is a Sender that can post a text as a message. Asked when routes are compiled, for
// those with http.text, and when their events are planned.
type Messenger interface {
	// Message returns the JSON of a request that posts a text, or false if the sender posts
	// no messages.
	Message(text string) (body []byte, posts bool)
}

// StatementChecker is a Sender that runs statements by name. Asked when routes
// are compiled, for the statement of each.
type StatementChecker interface {
	// CheckStatement returns the name of the statement, which may be given as
	// empty where there is only one, and says why it cannot run with so many
	// parameters.
	CheckStatement(name string, params int) (string, error)
}

// StateReader is a Sender that can read where it sends, with its own
// credentials. Asked when routes are compiled, for those that refetch with the
// credentials of their destination; called before the first attempt.
type StateReader interface {
	// Fetch reads the JSON at a URL, or says what that makes of the attempt it was
	// for.
	Fetch(ctx context.Context, url string) ([]byte, *Outcome)
}

// Transactional is a Sender whose effects are applied in the ledger's own
// Postgres: claim, statement and settlement are one transaction, so that an
// effect is applied exactly once. Asked for each attempt, in place of Send.
type Transactional interface {
	Sender
	// Run applies the effect with tx and says what came of it. Unless it is done,
	// tx must be rolled back. An error means that it is not known what came of it,
	// because tx is lost.
	Run(ctx context.Context, tx pgx.Tx, e *ledger.Effect) (Outcome, error)
}

// What the senders of this package can do.
var (
	_ Sender        = (*HTTP)(nil)
	_ TimeLimited   = (*HTTP)(nil)
	_ HeaderOwner   = (*HTTP)(nil)
	_ HeaderChecker = (*HTTP)(nil)
	_ Messenger     = (*HTTP)(nil)
	_ StateReader   = (*HTTP)(nil)

	_ Sender      = (*Email)(nil)
	_ TimeLimited = (*Email)(nil)

	_ Transactional    = (*SQL)(nil)
	_ TimeLimited      = (*SQL)(nil)
	_ StatementChecker = (*SQL)(nil)

	_ StateReader = (*Fetcher)(nil)
)

// Outcome is what one attempt came to.
type Outcome struct {
	Verdict ledger.Verdict
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
	return Outcome{Verdict: ledger.VerdictNotApplied, Err: errors.New(oneLine(err.Error())), NeedsPerson: true}
}

// refused says that an attempt ended for good before anything was sent.
func refused(text string) Outcome {
	return Outcome{Verdict: ledger.VerdictRefused, Err: errors.New(oneLine(text))}
}
