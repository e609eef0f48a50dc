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
	// Held means that the event is new and stored, but a replay guard keeps it back. It has no
	// job until an operator releases it.
	Held AcceptStatus = "held"
	// Refused means that a replay guard refused the event. It is not stored.
	Refused AcceptStatus = "refused"
)

// Acceptance is the committed result of accepting one delivery, event by event.
type Acceptance struct {
	// DeliveryID identifies the delivery, which is stored if any of its events is new. It is
	// zero if all events were recognised as duplicates without a query.
	DeliveryID uuid.UUID
	Events     []AcceptedEvent // in the order of Delivery.Events
}

// AcceptedEvent is the result for one event of a delivery.
type AcceptedEvent struct {
	identity.EventRef

	Type   string
	Status AcceptStatus
	// AcceptanceID identifies the stored acceptance: that of an earlier delivery when Status is
	// Duplicate.
	AcceptanceID uuid.UUID
	// FirstReceivedAt is when the event was first accepted, by the database clock. The delay of
	// a duplicate is measured from it.
	FirstReceivedAt time.Time
	// Whether a duplicate came with another payload than the stored one.
	BodyDiffers bool
	// SameAs is the id of the event that this one repeats, if it is a duplicate by its content
	// and not by its id.
	SameAs identity.EventID
	// Whether the proof of the delivery was used before, under another id.
	ReplaySuspect bool
	// Whether the proof was used before with other content.
	ContentDiffers bool

	hash []byte // SHA-256 of the stored payload
}

// New returns the number of events that were accepted for the first time.
func (a Acceptance) New() int { return a.count(Accepted) }

// Duplicates returns the number of events that were already stored.
func (a Acceptance) Duplicates() int { return a.count(Duplicate) }

// Held returns the number of events that a replay guard keeps back.
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
