package inbox

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

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

	Outcome    Outcome `json:"state"`
	Generation int     `json:"generation"` // fence of the dispatch; a replay adds one
	// EffectGeneration is the generation of the effects that a dispatch makes.
	EffectGeneration int `json:"-"`
	// OnlyRoute is the one route that is dispatched, and Before what the event was when a
	// person ordered that: what else was made of it stays. Empty: all routes are.
	OnlyRoute   string    `json:"-"`
	Before      Outcome   `json:"-"`
	ProcessedAt time.Time `json:"processed_at"` // zero until dispatched, skipped or failed
	ConfigHash  string    `json:"config_hash,omitzero"`
	Error       string    `json:"error,omitzero"`

	Duplicates      int64     `json:"duplicates"`
	LastDuplicateAt time.Time `json:"last_duplicate_at"` // zero without a duplicate
	BodyDiffers     bool      `json:"body_differs,omitzero"`
	// DuplicateTimes are those of the last 16 duplicates, in order.
	DuplicateTimes []time.Time `json:"duplicate_times,omitempty"`

	ReplaySuspect bool   `json:"replay_suspect,omitzero"` // the proof of its delivery had come before, under another id
	RetryNumber   int    `json:"retry_number,omitzero"`   // which retry of the provider brought it; 0 for a first try
	RetryReason   string `json:"retry_reason,omitzero"`

	Origin identity.Origin `json:"origin"` // how it came
	// Altered is in what the list of the provider differs from what the webhook would have
	// said, such as redacted. Empty: in nothing that is known.
	Altered string `json:"altered,omitzero"`

	// ErasedAt and RedactedAt are when its content was taken away, by an order or by the
	// settings of its source; Error says who ordered it. Zero: its content is as it came.
	ErasedAt   time.Time `json:"erased_at,omitzero"`
	RedactedAt time.Time `json:"redacted_at,omitzero"`

	Headers     map[string][]string `json:"headers,omitempty"`
	ContentType string              `json:"content_type,omitzero"`
	Body        []byte              `json:"-"` // of the whole delivery
}

// Outcome is how far an event has come.
type Outcome string

// The outcomes of an event.
const (
	Received   Outcome = "received"   // committed, waits for its dispatch
	Dispatched Outcome = "dispatched" // its effects are committed
	Skipped    Outcome = "skipped"    // no route and no handler wanted it
	Failed     Outcome = "failed"     // its dispatch failed for the last time
	Held       Outcome = "held"       // a replay guard keeps it back until a person decides
	Dropped    Outcome = "dropped"    // it was held, and a person decided against it
	Imported   Outcome = "imported"   // another system accepted it: there is no delivery and no job
)

// Outcomes are all outcomes of an event, in the order in which they come.
func Outcomes() []Outcome {
	return []Outcome{Received, Dispatched, Skipped, Failed, Held, Dropped, Imported}
}

// Payload is the event's own bytes: its delivery's body, or the part of it
// that Item points to.
func (e *Event) Payload() []byte { return payload.Part(e.Body, e.Item) }

// gone says that there is nothing to dispatch any more; empty when there is.
func (e *Event) gone() string {
	switch {
	case !e.ErasedAt.IsZero():
		return fmt.Sprintf("its content was erased on %s, and what is gone cannot be dispatched", e.ErasedAt.UTC().Format(time.RFC3339))
	case !e.RedactedAt.IsZero():
		return fmt.Sprintf("its content was redacted on %s, and what is left is not what was signed", e.RedactedAt.UTC().Format(time.RFC3339))
	}
	return ""
}

// MarshalJSON writes what people and their programs are shown of an event: not
// its body, but the length of it. A time that is not there is null.
func (e *Event) MarshalJSON() ([]byte, error) {
	type fields Event // without this method
	shown := struct {
		*fields

		OccurredAt      *time.Time `json:"occurred_at"`
		ProcessedAt     *time.Time `json:"processed_at"`
		LastDuplicateAt *time.Time `json:"last_duplicate_at"`
		BodyBytes       *int       `json:"body_bytes,omitempty"` // while the delivery is stored
	}{
		fields: (*fields)(e), OccurredAt: plainjson.OrNull(e.OccurredAt), ProcessedAt: plainjson.OrNull(e.ProcessedAt), LastDuplicateAt: plainjson.OrNull(e.LastDuplicateAt),
	}
	if e.Body != nil {
		size := len(e.Body)
		shown.BodyBytes = &size
	}
	return plainjson.Marshal(shown)
}
