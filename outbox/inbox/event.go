package inbox

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Event is an accepted event as stored.
type Event struct {
	identity.EventRef

	Provider     string    `json:"provider"`
	Type         string    `json:"type"`
	APIVersion   string    `json:"api_version,omitzero"`
	OccurredAt   time.Time `json:"occurred_at"` // zero if the provider does not send it
	ReceivedAt   time.Time `json:"received_at"` // database clock
	AcceptSeq    int64     `json:"-"`
	AcceptanceID uuid.UUID `json:"acceptance_id"`
	DeliveryID   uuid.UUID `json:"delivery_id"`
	Item         string    `json:"item,omitzero"`
	Traceparent  string    `json:"-"`

	Outcome    Outcome `json:"state"`
	Generation int     `json:"generation"` // number of the dispatch, which the fence compares; a replay increments it
	// EffectGeneration is the generation of the effects that a dispatch creates.
	EffectGeneration int `json:"-"`
	// OnlyRoute is the single route that a waiting replay will dispatch, and Before is the outcome
	// before that replay. The effects of other routes stay unchanged. Empty: all routes, or no
	// replay waits.
	OnlyRoute   string    `json:"-"`
	Before      Outcome   `json:"-"`
	ProcessedAt time.Time `json:"processed_at"` // zero while the event is received or held
	ConfigHash  string    `json:"config_hash,omitzero"`
	Error       string    `json:"error,omitzero"`

	Duplicates      int64     `json:"duplicates"`
	LastDuplicateAt time.Time `json:"last_duplicate_at"` // zero without duplicates
	BodyDiffers     bool      `json:"body_differs,omitzero"`
	// DuplicateTimes are the times of the last 16 duplicates, in order.
	DuplicateTimes []time.Time `json:"duplicate_times,omitempty"`

	ReplaySuspect bool   `json:"replay_suspect,omitzero"` // the proof of the event's delivery was used before, under another id
	RetryNumber   int    `json:"retry_number,omitzero"`   // number of the provider's retry that delivered it; 0 for a first attempt
	RetryReason   string `json:"retry_reason,omitzero"`

	Origin identity.Origin `json:"origin"` // how it was received
	// Altered describes how the event from the provider's list differs from the webhook, such as
	// "redacted". Empty: no known difference.
	Altered string `json:"altered,omitzero"`

	// EffectStates counts the event's effects by state. It is set in lists and for a single event on
	// display; nil: unknown.
	EffectStates ledger.StateCounts `json:"effect_states,omitzero"`

	// ErasedAt is the time when an operator erased the event's content; Error names the operator.
	// RedactedAt is the time when the settings of its source redacted the content. Zero: never.
	ErasedAt   time.Time `json:"erased_at,omitzero"`
	RedactedAt time.Time `json:"redacted_at,omitzero"`

	Headers     map[string][]string `json:"headers,omitempty"`
	ContentType string              `json:"content_type,omitzero"`
	Body        []byte              `json:"-"` // body of the whole delivery

	// ExportedDay is the day of the export from which the delivery was read, such as 2026-11-01.
	// Empty: the delivery is stored, or lost.
	ExportedDay string `json:"exported_day,omitzero"`
	// Recalled is set if the event itself was read from the export. The event then has the state in
	// which it was exported.
	Recalled *Recalled `json:"-"`
}

// Outcome is the processing state of an event.
type Outcome string

// The outcomes of an event.
const (
	Received   Outcome = "received"   // committed, waits for its dispatch
	Dispatched Outcome = "dispatched" // its effects are committed
	Skipped    Outcome = "skipped"    // no route and no handler matched
	Failed     Outcome = "failed"     // its last dispatch attempt failed
	Held       Outcome = "held"       // a replay guard holds it until an operator decides
	Dropped    Outcome = "dropped"    // an operator dropped it, or erased it before its dispatch
	Imported   Outcome = "imported"   // another system accepted it: it has no delivery and no job
)

// Outcomes returns all event outcomes, in the order of their constants.
func Outcomes() []Outcome {
	return []Outcome{Received, Dispatched, Skipped, Failed, Held, Dropped, Imported}
}

// Payload returns the event's own bytes: its delivery's body, or the part that Item points to.
func (e *Event) Payload() []byte { return payload.Part(e.Body, e.Item) }

// gone returns the reason why the event's content can no longer be dispatched, or "" if it can.
func (e *Event) gone() string {
	switch {
	case !e.ErasedAt.IsZero():
		return fmt.Sprintf("its content was erased on %s, so it cannot be dispatched", e.ErasedAt.UTC().Format(time.RFC3339))
	case !e.RedactedAt.IsZero():
		return fmt.Sprintf("its content was redacted on %s, so it is no longer what the sender signed", e.RedactedAt.UTC().Format(time.RFC3339))
	}
	return ""
}

// MarshalJSON writes the fields that operators and API clients see, with the length of the body
// instead of the body. An unset time is null, except that an unset erased_at or redacted_at is left
// out.
func (e *Event) MarshalJSON() ([]byte, error) {
	type fields Event // without this method
	shown := struct {
		*fields

		OccurredAt      *time.Time `json:"occurred_at"`
		ProcessedAt     *time.Time `json:"processed_at"`
		LastDuplicateAt *time.Time `json:"last_duplicate_at"`
		BodyBytes       *int       `json:"body_bytes,omitempty"` // set if the body was loaded
	}{
		fields: (*fields)(e), OccurredAt: plainjson.OrNull(e.OccurredAt), ProcessedAt: plainjson.OrNull(e.ProcessedAt), LastDuplicateAt: plainjson.OrNull(e.LastDuplicateAt),
	}
	if e.Body != nil {
		size := len(e.Body)
		shown.BodyBytes = &size
	}
	return plainjson.Marshal(shown)
}
