package outbox

import (
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Maximum lengths of an event's id and type, in bytes.
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

	// Handlers is true if the dispatch jobs go to riverjob.HandlersQueue(Source). Only processes
	// with Go handlers for the source fetch jobs from that queue.
	Handlers bool

	// ReplayGuard remembers the delivery's proof. Nil: no proof is remembered.
	ReplayGuard *ReplayGuard
	// ContentWindow is the period, from the first event, in which events with the same content
	// count as one event, whatever their ids. 0: only ids count.
	ContentWindow time.Duration
	// ArrivedAt is the time, by the database clock, from which ContentWindow counts for a delivery
	// that is accepted later than it arrived. Zero: the time of acceptance.
	ArrivedAt time.Time

	// RetryNumber and RetryReason describe the provider's own retry. Zero for a first attempt.
	RetryNumber int
	RetryReason string

	// Origin is the way the delivery was received. Defaults to identity.Webhook.
	Origin identity.Origin
	// Altered describes the known differences from the webhook's content. Empty for a webhook.
	Altered string

	// Traceparent is the W3C trace context of the receiving span, or empty. The metadata of each
	// dispatch job contains it, so that processing can link back to the span.
	Traceparent string

	// Release is called once when the outbox no longer holds Body, however the delivery ended. The
	// call happens before Accept returns, unless Accept returns ErrUnavailable because the caller's
	// context or AcceptTimeout ended first. In that case Release is called when the delivery has
	// left the queue and its commit has ended. Release must not block. May be nil.
	Release func() `json:"-"`
}

func (d Delivery) release() {
	if d.Release != nil {
		d.Release()
	}
}

// ReplayGuard detects a captured delivery that is sent again under new ids, or with other content
// than the first delivery with its proof.
type ReplayGuard struct {
	// Proof is data that only the sender can create, such as the signature.
	Proof []byte
	// Content distinguishes deliveries that may share one proof. It is the type if the type is not
	// signed, or the body if the proof does not cover the whole body. Empty: the proof covers
	// everything.
	Content []byte
	// Action is applied to new events whose proof was used before. If the content differs,
	// ReplayFlag acts like ReplayHold, and ReplayRefuse also refuses events that are already
	// stored. Only a forger has two contents for one proof.
	Action ReplayAction
}

// ReplayAction selects how new events are handled if their proof was used before.
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
	// OccurredAt is the event's time by the provider's clock, or zero. A time outside the years 1
	// to 9999 counts as unknown.
	OccurredAt time.Time
	// Item is the event's JSON pointer (RFC 6901) inside the body, or empty if the whole body is
	// the event.
	Item string
	// Part contains the bytes that Item points to, if the caller has them. It may be a slice of the
	// body.
	Part []byte
}

// InvalidEventError is returned when an event cannot be stored under its id or type. The sender is
// at fault, and every retry fails in the same way.
type InvalidEventError struct {
	Field  string // "event id" or "event type"
	Reason string
}

// Error implements error.
func (e *InvalidEventError) Error() string { return fmt.Sprintf("%s %s", e.Field, e.Reason) }

// validate rejects values that Postgres would otherwise reject inside a batch.
func (in Incoming) validate() error {
	if err := column.ValidateKey(in.ID, maxEventIDLen); err != nil {
		return &InvalidEventError{Field: "event id", Reason: err.Error()}
	}
	if err := column.ValidateKey(in.Type, maxEventTypeLen); err != nil {
		return &InvalidEventError{Field: "event type", Reason: err.Error()}
	}
	return nil
}
