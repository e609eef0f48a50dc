package ledger

import (
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// What statements of the ledger take; rows of batches stand where they are made.
// Times are given in seconds, as an interval or until now.

type attemptOfClaim struct {
	identity.EffectID

	ClaimID uuid.UUID
}

// madeIn bounds where effects are looked for by their key: when they were made.
type madeIn struct{ MadeSince, MadeUntil *time.Time } // nil: whenever

// with widens it to a time.
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

type effectByKey struct {
	madeIn

	IdempotencyKey string
}

type fixRequest struct {
	identity.EffectID

	Attempt     int
	ClaimID     uuid.UUID
	Method, URL string // empty: as it is
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
	Filter         any // becomes JSON
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
	Targets []string // none: all
	Limit   int
}

// withoutJob asks for effects of a destination that lack a job, among those that
// wait in its queues.
type withoutJob struct {
	Destination  string
	Queues       []string
	GraceSeconds float64
	Look         int
}

// pageOfOrders are the orders of a destination after one of them.
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
