package outbox

import (
	"fmt"
	"time"

	"github.com/google/uuid"

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

// Event is an accepted event as it is stored.
type Event struct {
	identity.EventRef

	Provider     string    `json:"provider"`
	Type         string    `json:"type"`
	APIVersion   string    `json:"api_version,omitzero"`
	OccurredAt   time.Time `json:"occurred_at"` // zero when the provider does not say
	ReceivedAt   time.Time `json:"received_at"` // database clock
	AcceptSeq    int64     `json:"-"`
	AcceptanceID uuid.UUID `json:"acceptance_id"`
	DeliveryID   uuid.UUID `json:"delivery_id"`
	Item         string    `json:"item,omitzero"`
	Traceparent  string    `json:"-"`

	Outcome    EventOutcome `json:"state"`
	Generation int          `json:"generation"` // fence of the dispatch; a replay adds one
	// EffectGeneration is the generation of the event's effects.
	EffectGeneration int       `json:"-"`
	ProcessedAt      time.Time `json:"processed_at"` // zero until dispatched, skipped or failed
	ConfigHash       string    `json:"config_hash,omitzero"`
	Error            string    `json:"error,omitzero"`

	Duplicates      int64     `json:"duplicates"`
	LastDuplicateAt time.Time `json:"last_duplicate_at"` // zero without a duplicate
	BodyDiffers     bool      `json:"body_differs,omitzero"`

	ReplaySuspect bool   `json:"replay_suspect,omitzero"` // the proof of its delivery had come before, under another id
	RetryNumber   int    `json:"retry_number,omitzero"`   // which retry of the provider brought it; 0 for a first try
	RetryReason   string `json:"retry_reason,omitzero"`

	Headers     map[string][]string `json:"headers,omitempty"`
	ContentType string              `json:"content_type,omitzero"`
	Body        []byte              `json:"-"` // of the whole delivery
}

// EventOutcome is how far an event has come.
type EventOutcome string

// The outcomes of an event.
const (
	EventReceived   EventOutcome = "received"   // committed, waits for its dispatch
	EventDispatched EventOutcome = "dispatched" // its effects are committed
	EventSkipped    EventOutcome = "skipped"    // no route and no handler wanted it
	EventFailed     EventOutcome = "failed"     // its dispatch failed for the last time
	EventHeld       EventOutcome = "held"       // a replay guard keeps it back until a person decides
	EventDropped    EventOutcome = "dropped"    // it was held, and a person decided against it
)

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
