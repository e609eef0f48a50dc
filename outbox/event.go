package outbox

import (
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
)

// Limits of what may stand in a dedup row.
const (
	maxEventIDLen   = 255
	maxEventTypeLen = 255
)

// Delivery is one verified request of a provider, on its way in. It carries
// zero, one or many events.
type Delivery struct {
	Source      identity.Source
	Provider    string
	Headers     map[string][]string // without anything that is itself a secret
	ContentType string
	Body        []byte // the exact bytes received; stored as they are (I1)
	Events      []Incoming

	// Handlers sends the dispatch jobs to HandlersQueue(Source), worked only by
	// processes that registered Go handlers for the source.
	Handlers bool

	// ReplayGuard remembers what proves the delivery. Nil: nothing does.
	ReplayGuard *ReplayGuard
	// ContentWindow makes events of the same content one event for this long
	// from the first, whatever their ids. 0: only ids count.
	ContentWindow time.Duration

	// RetryNumber and RetryReason are what the provider says of its own retry;
	// zero for a first try.
	RetryNumber int
	RetryReason string

	// Origin is how the delivery came. Defaults to identity.Webhook.
	Origin identity.Origin
	// Altered is in what it is known to differ from what the webhook would have brought;
	// empty for a webhook.
	Altered string

	// Traceparent is the W3C trace context of the receiving span, or empty. It
	// travels in the job's metadata, so that the work can link back to it.
	Traceparent string

	// Release is called once when the outbox no longer holds Body, however the
	// delivery ended: before Accept returns an outcome or an error, but when the
	// caller's context ended first, only when the delivery has left the queue and
	// its commit has ended. It must not block. Nil: nobody is told.
	Release func() `json:"-"`
}

func (d Delivery) release() {
	if d.Release != nil {
		d.Release()
	}
}

// ReplayGuard notices a captured delivery that is sent again, under fresh ids
// or with other content than its proof came with first.
type ReplayGuard struct {
	// Proof is what only the sender can make, such as the signature.
	Proof []byte
	// Content tells apart what can come under one proof: the type where that is
	// not signed, or the body where the proof does not cover all of it. Empty:
	// the proof covers everything.
	Content []byte
	// Action is what becomes of new events whose proof came before. Under other
	// content ReplayFlag holds them all the same, and ReplayRefuse refuses known
	// events as well: nobody but a forger has two contents for one proof.
	Action ReplayAction
}

// ReplayAction is what becomes of new events under a proof that came before.
type ReplayAction string

// The values of ReplayAction.
const (
	ReplayFlag   ReplayAction = "flag"   // accepted and marked as suspect
	ReplayHold   ReplayAction = "hold"   // stored as EventHeld: a person decides
	ReplayRefuse ReplayAction = "refuse" // not stored
)

// Incoming is one event of a Delivery as the provider's rules found it.
type Incoming struct {
	// ID is the dedup key: 1 to 255 bytes of valid UTF-8 without NUL.
	ID identity.EventID
	// Type is the provider's name for what happened, under the same limits.
	Type string
	// APIVersion is the version of the payload's format, or empty.
	APIVersion string
	// OccurredAt is when it happened by the provider's clock, or zero. A time
	// outside the years 1 to 9999 counts as unknown.
	OccurredAt time.Time
	// Item is the JSON pointer (RFC 6901) of the event inside the body, or
	// empty when the whole body is the event.
	Item string
	// Part is what Item points to, when the caller has it at hand. It may be a
	// slice of the body.
	Part []byte
}

// InvalidEventError says that an event cannot be stored under the id or type
// it came with. It is the sender's fault and the same on every retry.
type InvalidEventError struct {
	Field  string // "event id" or "event type"
	Reason string
}

func (e *InvalidEventError) Error() string { return fmt.Sprintf("%s %s", e.Field, e.Reason) }

// validate refuses, before anything is batched, what Postgres would refuse
// inside the batch.
func (in Incoming) validate() error {
	if err := column.ValidateKey(in.ID, maxEventIDLen); err != nil {
		return &InvalidEventError{Field: "event id", Reason: err.Error()}
	}
	if err := column.ValidateKey(in.Type, maxEventTypeLen); err != nil {
		return &InvalidEventError{Field: "event type", Reason: err.Error()}
	}
	return nil
}
