package ledger

import (
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// This file declares the arguments of the ledger's statements. Batch rows are declared next to the
// code that builds them. A field whose name ends in Seconds is a duration in seconds.

type attemptOfClaim struct {
	identity.EffectID

	ClaimID uuid.UUID
}

// madeIn limits a look-up by key to effects created in a period.
type madeIn struct{ MadeSince, MadeUntil *time.Time } // nil: no bound

// with returns the period, widened to include at. It sets a nil bound to at.
func (m madeIn) with(at time.Time) madeIn {
	if m.MadeSince == nil || at.Before(*m.MadeSince) {
		m.MadeSince = &at
	}
	if m.MadeUntil == nil || at.After(*m.MadeUntil) {
		m.MadeUntil = &at
	}
	return m
}

type askedEffects struct{ Asked []identity.EffectID }

type askedEvents struct{ Asked []identity.EventRef }

type effectByKey struct {
	madeIn

	IdempotencyKey string
}

type fixRequest struct {
	identity.EffectID

	Attempt     int
	ClaimID     uuid.UUID
	Method, URL string // empty: unchanged
	Headers     []byte
	ContentType string
	Body        []byte
}

type limitStatements struct{ Limit string }

type lockRequest struct{ RequestID string }

type logOperator struct {
	Who, Role, Via string
	Action         Action
	Target         string
	Filter         any // encoded as JSON
	Reason, Result string
	Affected       int64
	RequestID      string
	RunID          *int64
}

type ofDestination struct{ Destination string }

type operatorDid struct {
	RequestID string
	Action    Action
	Target    string
}

type operatorLog struct {
	Since   *time.Time
	Targets []string // empty: all
	Limit   int
}

type resendsOf struct {
	Scope identity.Scope
	Limit int
}

// withoutJob selects a destination's effects that have no live job in the destination's queues.
type withoutJob struct {
	Destination  string
	Queues       []string
	GraceSeconds float64
	Look         int
}

// pageOfOrders selects a destination's orders after a given order.
type pageOfOrders struct {
	AfterScope    identity.Scope
	AfterOrderKey string
	Limit         int
}

type ordersWithoutJob struct {
	withoutJob
	pageOfOrders
}

type oldestDueInOrders struct {
	Destination string
	pageOfOrders
}
