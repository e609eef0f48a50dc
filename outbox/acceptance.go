package outbox

import (
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// AcceptStatus is the result of accepting one event.
type AcceptStatus string

// The results of accepting one event.
const (
	Accepted  AcceptStatus = "accepted"
	Duplicate AcceptStatus = "duplicate"
	// Held means that the event is new and stored, but a replay guard holds it. It has no job until
	// an operator releases it.
	Held AcceptStatus = "held"
	// Refused means that a replay guard refused the event. It is not stored.
	Refused AcceptStatus = "refused"
)

// Acceptance is the result of accepting one delivery, event by event. It is committed when Accept
// returns it; AcceptTx returns it before the caller commits.
type Acceptance struct {
	// DeliveryID identifies the delivery, which is stored if any of its events is new. DeliveryID
	// is zero if all events were recognised as duplicates without a query.
	DeliveryID uuid.UUID
	Events     []AcceptedEvent // in the order of Delivery.Events
}

// AcceptedEvent is the result for one event of a delivery.
type AcceptedEvent struct {
	identity.EventRef

	Type   string
	Status AcceptStatus
	// AcceptanceID identifies the stored acceptance. For a Duplicate it is the acceptance of the
	// earlier event. Zero for a Refused event.
	AcceptanceID uuid.UUID
	// FirstReceivedAt is the time when the event was first accepted, by the database clock. A
	// duplicate's delay is measured from this time. Zero for a Refused event.
	FirstReceivedAt time.Time
	// BodyDiffers is true if a duplicate's payload differs from the stored payload.
	BodyDiffers bool
	// SameAs is the id of the event with the same content, if this event is a duplicate by content
	// and not by id.
	SameAs identity.EventID
	// ReplaySuspect is true if an earlier delivery had the same proof. It is false for an event
	// that is a duplicate by id.
	ReplaySuspect bool
	// ContentDiffers is true if ReplaySuspect is true and the earlier delivery had other content.
	ContentDiffers bool

	hash []byte // SHA-256 of the stored payload
}

// New returns the number of new events that no replay guard holds: their Status is Accepted.
func (a Acceptance) New() int { return a.count(Accepted) }

// Duplicates returns the number of events that repeat a stored event's id or content.
func (a Acceptance) Duplicates() int { return a.count(Duplicate) }

// Held returns the number of events that a replay guard holds.
func (a Acceptance) Held() int { return a.count(Held) }

// Refused returns the number of events that a replay guard refused.
func (a Acceptance) Refused() int { return a.count(Refused) }

func (a Acceptance) count(status AcceptStatus) int {
	n := 0
	for _, e := range a.Events {
		if e.Status == status {
			n++
		}
	}
	return n
}
