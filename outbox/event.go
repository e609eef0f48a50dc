package outbox

import (
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
)

// Limits of the keys in a dedup row, in bytes.
const (
	maxEventIDLen   = 255
	maxEventTypeLen = 255
)

// Delivery is one verified request from a provider. It carries zero, one or many events.
type Delivery struct {
	Source      identity.Source
	Provider    string
	Headers     map[string][]string // must not contain secrets
	ContentType string
	Body        []byte // the exact bytes received, stored unchanged (I1)
	Events      []Incoming

	// Whether the dispatch jobs go to HandlersQueue(Source). Only processes that registered Go
	// handlers for the source process that queue.
	Handlers bool

	// ReplayGuard remembers the proof of the delivery. Nil: none is remembered.
	ReplayGuard *ReplayGuard
	// ContentWindow is how long, from the first one, events of the same content count as one
	// event, whatever their ids. 0: only ids count.
	ContentWindow time.Duration

	// RetryNumber and RetryReason are what the provider says about its own retry. Zero for a
	// first attempt.
	RetryNumber int
	RetryReason string

	// Origin is how the delivery was received. Defaults to identity.Webhook.
	Origin identity.Origin
	// Altered describes the known differences from what the webhook would have contained. Empty
	// for a webhook.
	Altered string

	// Traceparent is the W3C trace context of the receiving span, or empty. It travels in the
	// metadata of the job, so that processing can link back to it.
	Traceparent string

	// Release is called once when the outbox no longer holds Body, however the delivery ended.
	// That is before Accept returns, unless the caller's context ends first. In that case
	// Release is called when the delivery has left the queue and its commit has ended. It must
	// not block. May be nil.
	Release func() `json:"-"`
}

func (d Delivery) release() {
	if d.Release != nil {
		d.Release()
	}
}

// ReplayGuard detects a captured delivery that is sent again, under new ids or with other
// content than its proof first came with.
type ReplayGuard struct {
	// Proof is something only the sender can make, such as the signature.
	Proof []byte
	// Content distinguishes deliveries that may share one proof: the type if it is not signed,
	// or the body if the proof does not cover all of it. Empty: the proof covers everything.
	Content []byte
	// Action is applied to new events whose proof was used before. If the content differs too,
	// ReplayFlag holds them as well, and ReplayRefuse also refuses events that are already
	// stored: only a forger has two contents for one proof.
	Action ReplayAction
}

// ReplayAction is applied to new events under a proof that was used before.
type ReplayAction string

// The values of ReplayAction.
const (
	ReplayFlag   ReplayAction = "flag"   // accepted and marked as suspect
	ReplayHold   ReplayAction = "hold"   // stored as inbox.Held until an operator decides
	ReplayRefuse ReplayAction = "refuse" // not stored
)

// Incoming is one event of a Delivery, as extracted by the rules of the provider.
type Incoming struct {
	// ID is the dedup key: 1 to 255 bytes of valid UTF-8 without NUL.
	ID identity.EventID
	// Type is the provider's name for what happened, under the same limits.
	Type string
	// APIVersion is the version of the payload's format, or empty.
	APIVersion string
	// OccurredAt is when it happened by the provider's clock, or zero. A time outside the years
	// 1 to 9999 counts as unknown.
	OccurredAt time.Time
	// Item is the JSON pointer (RFC 6901) of the event inside the body, or empty if the whole
	// body is the event.
	Item string
	// Part is the bytes that Item points to, if the caller has them. It may be a slice of the
	// body.
	Part []byte
}

// InvalidEventError is returned when an event cannot be stored under its id or type. It is the
// sender's fault and the same on every retry.
type InvalidEventError struct {
	Field  string // "event id" or "event type"
	Reason string
}

// Error implements error.
func (e *InvalidEventError) Error() string { return fmt.Sprintf("%s %s", e.Field, e.Reason) }

// validate rejects values before batching that Postgres would reject inside the batch.
func (in Incoming) validate() error {
	if err := column.ValidateKey(in.ID, maxEventIDLen); err != nil {
		return &InvalidEventError{Field: "event id", Reason: err.Error()}
	}
	if err := column.ValidateKey(in.Type, maxEventTypeLen); err != nil {
		return &InvalidEventError{Field: "event type", Reason: err.Error()}
	}
	return nil
}
