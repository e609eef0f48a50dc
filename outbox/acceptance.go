package outbox

import (
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// AcceptStatus tells whether an event of a delivery was new.
type AcceptStatus string

// The results of accepting one event.
const (
	Accepted  AcceptStatus = "accepted"
	Duplicate AcceptStatus = "duplicate"
	// Held: it is new and stored, but a replay guard keeps it back. It has no
	// job until a person releases it.
	Held AcceptStatus = "held"
	// Refused: a replay guard refused it. It is not stored.
	Refused AcceptStatus = "refused"
)

// Acceptance is what became of one delivery: committed, event by event.
type Acceptance struct {
	// DeliveryID is that of the stored delivery. Zero where every event was known
	// again without asking the database, so that nothing is stored.
	DeliveryID uuid.UUID
	Events     []AcceptedEvent // in the order of Delivery.Events
}

// AcceptedEvent is what became of one event of a delivery.
type AcceptedEvent struct {
	identity.EventRef

	Type   string
	Status AcceptStatus
	// AcceptanceID is that of the acceptance that stands: of an earlier
	// delivery when Status is Duplicate.
	AcceptanceID uuid.UUID
	// FirstReceivedAt is when the event was first accepted, by the database
	// clock. How late a duplicate came is measured from it.
	FirstReceivedAt time.Time
	// BodyDiffers tells that a duplicate came with another payload than the
	// one that is stored.
	BodyDiffers bool
	// SameAs is the id of the event it repeats when not its own id but its
	// content made it a duplicate.
	SameAs identity.EventID
	// ReplaySuspect tells that the proof of the delivery had come before, under
	// another id.
	ReplaySuspect bool
	// ContentDiffers tells that the proof had come before with other content.
	ContentDiffers bool

	hash []byte // SHA-256 of the payload that is stored
}

// New counts the events that were accepted for the first time.
func (a Acceptance) New() int { return a.count(Accepted) }

// Duplicates counts the events that were known already.
func (a Acceptance) Duplicates() int { return a.count(Duplicate) }

// Held counts the events a replay guard keeps back.
func (a Acceptance) Held() int { return a.count(Held) }

// Refused counts the events a replay guard refused.
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
