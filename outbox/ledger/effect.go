package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
)

const (
	maxKeyLen     = 255
	maxExcerptLen = 2 << 10
)

// wireKey is the key of an effect after so many rotations: the number is added,
// so that a person finds the effect by what a receiver logged.
func wireKey(idempotencyKey string, rotations int) string {
	if rotations == 0 {
		return idempotencyKey
	}
	return idempotencyKey + "_" + strconv.Itoa(rotations)
}

// unrotated is the effect's own key for one that a receiver logged.
func unrotated(wireKey string) string {
	const ownLen = len("hl_") + 40
	if len(wireKey) <= ownLen || wireKey[ownLen] != '_' {
		return wireKey
	}
	if _, err := strconv.ParseUint(wireKey[ownLen+1:], 10, 32); err != nil {
		return wireKey
	}
	return wireKey[:ownLen]
}

// Policy is what happens to an effect whose attempt may have been applied.
type Policy string

// The policies of an effect.
const (
	// AtLeastOnce tries again, with the same key and body.
	AtLeastOnce Policy = "at_least_once"
	// AtMostOnce parks the effect for a person (I8).
	AtMostOnce Policy = "at_most_once"
)

// EffectState is the state of an effect. doc.go has the table of its changes.
type EffectState string

// The states of an effect.
const (
	EffectPending   EffectState = "pending"   // waits for its first or next attempt; nothing was applied
	EffectStarted   EffectState = "started"   // an attempt holds the lease
	EffectDone      EffectState = "done"      // the receiver confirmed it (I6)
	EffectFailed    EffectState = "failed"    // refused for good
	EffectInDoubt   EffectState = "in_doubt"  // waits for its next attempt; an earlier one may have been applied
	EffectParked    EffectState = "parked"    // waits for a person
	EffectCancelled EffectState = "cancelled" // a person gave it up
)

// EffectStates are all states of an effect.
func EffectStates() []EffectState {
	return []EffectState{EffectPending, EffectStarted, EffectInDoubt, EffectDone, EffectFailed, EffectParked, EffectCancelled}
}

// Finished tells whether no attempt follows by itself.
func (s EffectState) Finished() bool {
	switch s {
	case EffectDone, EffectFailed, EffectParked, EffectCancelled:
		return true
	case EffectPending, EffectStarted, EffectInDoubt:
	}
	return false
}

// NewEffect is an effect to be committed, by a dispatch or by EnqueueTx.
type NewEffect struct {
	identity.EffectID

	Route       string // empty when enqueued by the application
	Destination string
	Queue       string // River queue of the destination
	Policy      Policy // empty: AtLeastOnce
	Request     Request

	// OrderKey makes the effects of one scope and key run one after another in
	// acceptance order; those of an application in the order they were enqueued.
	// Empty: in no order.
	OrderKey string
	// OnPark says whether a parked effect blocks those after it in its order.
	// Empty: OnParkBlock.
	OnPark OnPark
	// LatestKey names the object the effect is about: it is cancelled when a
	// newer one of the same scope and object was applied already. It implies an
	// OrderKey, which must be empty or the same.
	LatestKey string
	// OccurredAt is when it happened, for LatestKey; ties are decided by arrival.
	// Zero: when the event occurred, or else was received.
	OccurredAt time.Time

	// Claim lets the effect begin with its first attempt, unless its destination is
	// paused: whoever commits it attempts it, under this claim, and its job waits until
	// the lease ends. Its ID, KeyTTL, Probe and JobID mean nothing. It is not for an
	// effect that is at_most_once, in an order, or not rendered yet. Nil: a job begins it.
	Claim *Claim

	// Parked is why the effect cannot be attempted, such as a template that
	// failed on its event; empty for one that can. It is created parked, blocks
	// nothing, and becomes what it should be when its event is replayed.
	Parked string
	// Whole: it is parked although its request is there, and a person's retry sends it.
	Whole bool
}

// OnPark is what a parked effect means to those after it in its order.
type OnPark string

// What a parked effect means to its order.
const (
	OnParkBlock OnPark = "block" // they wait for a person
	OnParkSkip  OnPark = "skip"  // they go on without it
)

func (e NewEffect) rendering() string {
	switch {
	case e.Parked != "" && !e.Whole:
		return renderingFailed
	case e.Request.Late:
		return renderingLate
	}
	return renderingDone
}

func (e NewEffect) policy() Policy { return cmp.Or(e.Policy, AtLeastOnce) }

// Validate refuses what the ledger cannot hold.
func (e NewEffect) Validate() error {
	switch {
	case e.Scope == "":
		return errors.New("effect without a scope")
	case e.Destination == "" || e.Queue == "":
		return fmt.Errorf("effect %s without a destination or queue", e.EffectID)
	case e.Generation < 1:
		return fmt.Errorf("effect %s has generation %d, the first is 1", e.EffectID, e.Generation)
	case e.Request.Late && e.Request.FromDelivery:
		return fmt.Errorf("effect %s is to be rendered late and to send its delivery", e.EffectID)
	case e.policy() != AtLeastOnce && e.policy() != AtMostOnce:
		return fmt.Errorf("effect %s has policy %q, allowed are %s and %s", e.EffectID, e.Policy, AtLeastOnce, AtMostOnce)
	}
	if err := column.ValidateKey(e.Key, maxKeyLen); err != nil {
		return fmt.Errorf("effect key %w", err)
	}
	if err := e.validateBirth(); err != nil {
		return fmt.Errorf("effect %s: %w", e.EffectID, err)
	}
	return e.validateOrder()
}

// Effect is an effect as it stands in the ledger.
type Effect struct {
	identity.EffectID

	// IdempotencyKey names the effect. It never changes.
	IdempotencyKey string `json:"idempotency_key"`
	// WireKey is the key the attempt carries: IdempotencyKey, until a settlement
	// rotated it.
	WireKey      string            `json:"wire_key"`
	KeyRotations int               `json:"key_rotations,omitzero"`
	Route        string            `json:"route,omitzero"`
	Destination  string            `json:"destination"`
	Queue        string            `json:"-"`
	Policy       Policy            `json:"policy"`
	Event        identity.EventRef `json:"-"` // zero when enqueued by the application
	// EventReceivedAt is told by the Claim of the first attempt only.
	EventReceivedAt time.Time `json:"-"`
	EventType       string    `json:"event_type,omitzero"`
	AcceptSeq       int64     `json:"-"`
	Traceparent     string    `json:"-"` // of the span that created it, or empty
	Request         Request   `json:"-"`

	OrderKey     string    `json:"order_key,omitzero"` // effects of one Scope and OrderKey run one after another
	OnPark       OnPark    `json:"on_park,omitzero"`
	LatestKey    string    `json:"latest_key,omitzero"`
	OccurredAt   time.Time `json:"occurred_at,omitzero"`
	SupersededBy string    `json:"superseded_by,omitzero"` // IdempotencyKey of the newer effect applied instead

	State             EffectState `json:"state"`
	Attempt           int         `json:"attempt"` // attempts started so far
	UncountedAttempts int         `json:"-"`       // of these, probes that cost none of the attempts there are
	LeaseUntil        time.Time   `json:"lease_until"`
	NextAttemptAt     time.Time   `json:"next_attempt_at"`
	CreatedAt         time.Time   `json:"created_at"`
	FirstAttemptAt    time.Time   `json:"first_attempt_at"` // zero before the first
	LastAttemptAt     time.Time   `json:"last_attempt_at"`
	RefusedSince      time.Time   `json:"-"`                   // start of the first of the latest attempts that were all unauthorized; zero when the last was not
	MaybeAppliedSince time.Time   `json:"maybe_applied_since"` // zero when certainly not applied by any attempt so far
	FinishedAt        time.Time   `json:"finished_at"`
	ResponseStatus    int         `json:"response_status,omitzero"`
	ResponseExcerpt   string      `json:"response_excerpt,omitzero"`
	Error             string      `json:"error,omitzero"`
	JobID             int64       `json:"job_id,omitzero"`
	ErasedAt          time.Time   `json:"erased_at,omitzero"` // when its request and its answers were erased or redacted; Error says by whom

	claimID   uuid.UUID // of the attempt that runs, as Claim returned it
	bodyApart bool      // its body is large: Claim reads it on its own
	jobWaits  bool      // no job runs the attempt: its settlement says what becomes of the one that waits
}

// Verdict is what one attempt tells about its effect.
type Verdict int

// The verdicts of an attempt.
const (
	// VerdictDone: the receiver confirmed the effect.
	VerdictDone Verdict = iota + 1
	// VerdictRefused: the receiver said no for good; trying again is useless.
	VerdictRefused
	// VerdictTurnedAway: the receiver said no, so it certainly was not applied,
	// but a person may change that (a route that is not deployed yet, a wrong
	// secret): trying again may help.
	VerdictTurnedAway
	// VerdictNotApplied: it certainly was not applied (refused connection,
	// DNS, TLS, 429); trying again may help.
	VerdictNotApplied
	// VerdictMaybeApplied: nobody knows (time-out after sending, reset, 5xx).
	VerdictMaybeApplied
)
