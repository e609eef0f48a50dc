// Package destination sends effects. Each call makes one attempt, reaches only addresses that the
// operator allowed, and reports the outcome.
package destination

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Kinds of destination, as returned by Sender.Kind. A route renders requests in the format
// of its destination's kind.
const (
	KindHTTP     = "http"
	KindEmail    = "email"
	KindSQL      = "sql"
	KindNATS     = "nats"
	KindRabbitMQ = "rabbitmq"
)

// Brokers returns the kinds of destinations that are message brokers.
func Brokers() []string { return []string{KindNATS, KindRabbitMQ} }

// Sender performs one attempt of an effect. It is safe for concurrent use. A Sender may implement
// any of the interfaces below; each interface documents its use. A Sender that wraps another Sender
// must implement every interface that it passes on.
type Sender interface {
	// Kind returns the kind of destination: "http", "email", "sql", "nats" or "rabbitmq".
	Kind() string
	// FirstRequest returns the destination's additions to the request at the first claim, without
	// secrets. The ledger stores only parts that the effect's request does not have yet.
	FirstRequest(e *ledger.Effect) ledger.Request
	// Send makes one attempt, within its own timeout. It puts the request on the wire at most
	// once, and never retries.
	Send(ctx context.Context, e *ledger.Effect) Outcome
}

// TimeLimited is a Sender with a timeout of its own. A worker uses this timeout for a destination
// whose options have none.
type TimeLimited interface {
	// Timeout returns the longest duration of an attempt.
	Timeout() time.Duration
}

// HeaderOwner is a Sender that sets headers itself. It is used when routes are compiled: a
// forwarded delivery loses these headers.
type HeaderOwner interface {
	// OwnHeaders returns the headers' names in canonical form.
	OwnHeaders() []string
}

// HeaderChecker is a Sender that does not accept every header. It is used when routes are
// compiled, for each header that a route sets.
type HeaderChecker interface {
	// CheckHeader returns the reason why a request must not set this header, or nil if it may. The
	// value is empty if it is not known yet.
	CheckHeader(name, value string) error
}

// Messenger is a Sender that can post a text as a message. It is used when routes with http.text
// are compiled, and when their events are planned.
type Messenger interface {
	// Message returns the JSON of a request that posts a text, or false if the sender posts
	// no messages.
	Message(text string) (body []byte, posts bool)
}

// StatementChecker is a Sender that runs statements by name. It is used when routes are compiled,
// for each statement.
type StatementChecker interface {
	// CheckStatement returns the name of the statement, or an error if the statement cannot run
	// with this number of parameters. An empty name means the only statement.
	CheckStatement(name string, params int) (string, error)
}

// StateReader reads the current state of an object for routes with a refetch. A Sender must
// implement StateReader if a route refetches with the credentials of the Sender's destination. Each
// attempt calls Fetch until the request is rendered.
type StateReader interface {
	// Fetch reads the JSON at a URL. If it fails, it returns the outcome of the attempt that needs
	// the JSON.
	Fetch(ctx context.Context, url string) ([]byte, *Outcome)
}

// Transactional is a Sender whose effects are applied in the ledger's own Postgres: claim,
// statement and settlement are one transaction, so that an effect is applied exactly once. Each
// attempt calls Run instead of Send.
type Transactional interface {
	Sender
	// Run applies the effect with tx and returns the outcome. Unless the outcome is done, the
	// caller must roll back tx. An error means that the outcome is unknown, because tx was lost.
	Run(ctx context.Context, tx pgx.Tx, e *ledger.Effect) (Outcome, error)
}

// Interfaces that the senders of this package implement.
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

	_ Sender        = (*NATS)(nil)
	_ TimeLimited   = (*NATS)(nil)
	_ HeaderChecker = (*NATS)(nil)

	_ Sender        = (*RabbitMQ)(nil)
	_ TimeLimited   = (*RabbitMQ)(nil)
	_ HeaderChecker = (*RabbitMQ)(nil)

	_ StateReader = (*Fetcher)(nil)
)

// Outcome is the result of one attempt.
type Outcome struct {
	Verdict ledger.Verdict
	// Status is the HTTP or SMTP status, or 0 without a response.
	Status int
	// Excerpt is at most 2 KiB of the response: valid UTF-8 on one line, without control characters
	// and without the destination's secrets.
	Excerpt string
	// Err is nil if the effect is done. It is one line, without any part of the response body,
	// without secrets and without query strings.
	Err error
	// StoredError is true if the receiver did not process the request again, but replayed the error
	// that it had stored for the key. Trying again under the same key is useless.
	StoredError bool
	// NeedsPerson is true if nothing was sent, and nothing will be sent until an operator changes
	// the configuration or the effect.
	NeedsPerson bool
	// Left is true if nothing was sent because another process decides what to send. Such an
	// attempt does not count against the maximum number of attempts.
	Left bool
	// RetryAfter is the wait that the receiver requested, or 0.
	RetryAfter time.Duration
}

// needsPerson returns the outcome of an attempt that was not made because an operator must act
// first.
func needsPerson(err error) Outcome {
	return Outcome{Verdict: ledger.VerdictNotApplied, Err: errors.New(oneLine(err.Error())), NeedsPerson: true}
}

// refused returns the outcome of an attempt that failed permanently before anything was sent.
func refused(text string) Outcome {
	return Outcome{Verdict: ledger.VerdictRefused, Err: errors.New(oneLine(text))}
}
