package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	maxKeyLen     = 255
	maxExcerptLen = 2 << 10
)

// wireKey returns an effect's key after the given number of rotations. The number is a suffix, so
// that an operator can find the effect by the key in a receiver's log.
func wireKey(idempotencyKey string, rotations int) string {
	if rotations == 0 {
		return idempotencyKey
	}
	return idempotencyKey + "_" + strconv.Itoa(rotations)
}

// unrotated returns the effect's original key for a wire key from a receiver's log.
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

// Policy decides what happens to an effect whose attempt may have been applied.
type Policy string

// The policies of an effect.
const (
	// AtLeastOnce tries again, with the same key and body.
	AtLeastOnce Policy = "at_least_once"
	// AtMostOnce parks the effect until an operator decides (I8).
	AtMostOnce Policy = "at_most_once"
)

// EffectState is the state of an effect. The package documentation has the table of
// transitions.
type EffectState string

// The states of an effect.
const (
	EffectPending   EffectState = "pending"   // waits for its first or next attempt; nothing was applied
	EffectStarted   EffectState = "started"   // an attempt holds the lease
	EffectDone      EffectState = "done"      // the receiver confirmed it (I6)
	EffectFailed    EffectState = "failed"    // refused, and not tried again
	EffectInDoubt   EffectState = "in_doubt"  // waits for its next attempt; an earlier attempt may have been applied
	EffectParked    EffectState = "parked"    // needs an operator's decision
	EffectCancelled EffectState = "cancelled" // an operator cancelled it, or a newer effect superseded it
)

// EffectStates returns all states of an effect.
func EffectStates() []EffectState {
	return []EffectState{EffectPending, EffectStarted, EffectInDoubt, EffectDone, EffectFailed, EffectParked, EffectCancelled}
}

// Finished reports whether the effect's attempts have ended. Only an operator can then request
// another.
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

	Route       string // empty if no route creates the effect
	Destination string
	Queue       string // River queue of the destination
	Policy      Policy // empty: AtLeastOnce
	Request     Request

	// OrderKey makes the effects of one scope and order key run one after another in acceptance order.
	// An application's effects run in the order in which they were enqueued. Empty: no order.
	OrderKey string
	// OnPark decides whether a parked effect blocks later effects of its order. Empty: OnParkBlock.
	OnPark OnPark
	// LatestKey identifies the effect's object. The effect is cancelled if a newer effect of the
	// same scope and object was already applied. LatestKey is also the OrderKey, which must be empty
	// or equal.
	LatestKey string
	// OccurredAt is the time of the change, for LatestKey. Arrival order decides ties. Zero: the
	// event's occurrence time, its receipt time if that is unknown, or the current time if there is
	// no event.
	OccurredAt time.Time

	// Claim makes the ledger create the effect in the state started, with its first attempt
	// claimed, unless its destination is paused or has another queue. The process that commits the
	// effect also executes the attempt under this claim, and the job waits until the lease ends.
	// ID, KeyTTL, Probe, JobID and Repeated are ignored. Claim is not allowed for an effect that is
	// at_most_once, in an order, or not rendered yet. Nil: a job executes the first attempt.
	Claim *Claim

	// Parked is the reason why the effect cannot be attempted, such as the error of a template.
	// With a reason, the effect is created parked and blocks nothing. Unless Whole is true, a
	// replay of its event renders it again. Empty: the effect can be attempted.
	Parked string
	// Whole is true if a parked effect has a complete request. An operator's retry sends it.
	Whole bool
}

// Unrendered reports whether the effect is created parked because its request could not be rendered.
func (e NewEffect) Unrendered() bool { return e.Parked != "" && !e.Whole }

// OnPark decides whether a parked effect blocks later effects of its order.
type OnPark string

// The values of OnPark.
const (
	OnParkBlock OnPark = "block" // later effects wait for an operator
	OnParkSkip  OnPark = "skip"  // later effects do not wait for the parked effect
)

func (e NewEffect) rendering() string {
	switch {
	case e.Unrendered():
		return renderingFailed
	case e.Request.Late:
		return renderingLate
	}
	return renderingDone
}

func (e NewEffect) policy() Policy { return cmp.Or(e.Policy, AtLeastOnce) }

// Validate returns an error if the ledger cannot store e.
func (e NewEffect) Validate() error {
	switch {
	case e.Scope == "":
		return errors.New("effect without a scope")
	case e.Destination == "" || e.Queue == "":
		return fmt.Errorf("effect %s without a destination or queue", e.EffectID)
	case e.Generation < 1:
		return fmt.Errorf("effect %s has generation %d, the first is 1", e.EffectID, e.Generation)
	case e.Request.Late && e.Request.FromDelivery:
		return fmt.Errorf("effect %s cannot both be rendered late and send its delivery", e.EffectID)
	case e.policy() != AtLeastOnce && e.policy() != AtMostOnce:
		return fmt.Errorf("effect %s has policy %q; allowed: %s and %s", e.EffectID, e.Policy, AtLeastOnce, AtMostOnce)
	}
	if err := column.ValidateKey(e.Key, maxKeyLen); err != nil {
		return fmt.Errorf("effect key %w", err)
	}
	if err := e.validateBirth(); err != nil {
		return fmt.Errorf("effect %s: %w", e.EffectID, err)
	}
	return e.validateOrder()
}

// Effect is an effect as stored in the ledger.
type Effect struct {
	identity.EffectID

	// IdempotencyKey names the effect. It never changes.
	IdempotencyKey string `json:"idempotency_key"`
	// WireKey is the key that the attempt sends: IdempotencyKey, unless a settlement rotated it.
	WireKey      string            `json:"wire_key"`
	KeyRotations int               `json:"key_rotations,omitzero"`
	Route        string            `json:"route,omitzero"`
	Destination  string            `json:"destination"`
	Queue        string            `json:"-"`
	Policy       Policy            `json:"policy"`
	Event        identity.EventRef `json:"-"` // zero if the application enqueued the effect outside a handler
	// EventReceivedAt is set only when Claim grants the first attempt.
	EventReceivedAt time.Time `json:"-"`
	EventType       string    `json:"event_type,omitzero"`
	AcceptSeq       int64     `json:"-"`
	Traceparent     string    `json:"-"` // trace context of the span that created the effect, or empty
	Request         Request   `json:"-"`

	OrderKey     string    `json:"order_key,omitzero"` // effects of one Scope and OrderKey run one after another
	OnPark       OnPark    `json:"on_park,omitzero"`
	LatestKey    string    `json:"latest_key,omitzero"`
	OccurredAt   time.Time `json:"occurred_at,omitzero"`
	SupersededBy string    `json:"superseded_by,omitzero"` // IdempotencyKey of the newer effect applied instead

	State             EffectState `json:"state"`
	Attempt           int         `json:"attempt"` // attempts started so far
	UncountedAttempts int         `json:"-"`       // attempts that do not count toward the attempt limit
	LeaseUntil        time.Time   `json:"lease_until"`
	NextAttemptAt     time.Time   `json:"next_attempt_at"`
	CreatedAt         time.Time   `json:"created_at"`
	FirstAttemptAt    time.Time   `json:"first_attempt_at"` // zero before the first attempt
	LastAttemptAt     time.Time   `json:"last_attempt_at"`
	RefusedSince      time.Time   `json:"-"`                   // start of the current run of unauthorized attempts, or zero
	MaybeAppliedSince time.Time   `json:"maybe_applied_since"` // time of the first doubt, or zero
	FinishedAt        time.Time   `json:"finished_at"`
	ResponseStatus    int         `json:"response_status,omitzero"`
	ResponseExcerpt   string      `json:"response_excerpt,omitzero"`
	Error             string      `json:"error,omitzero"`
	JobID             int64       `json:"job_id,omitzero"`
	ErasedAt          time.Time   `json:"erased_at,omitzero"` // time of erasure or redaction: see Error

	claimID    uuid.UUID // claim id of the running attempt, as Claim returned it
	bodyApart  bool      // its body is large: LoadBody reads it separately
	unrendered bool      // its request could not be rendered
	jobWaits   bool      // no job executes the attempt: its settlement decides what happens to the waiting job
}

// Verdict is the result of one attempt for its effect.
type Verdict int

// The verdicts of an attempt.
const (
	// VerdictDone means that the receiver confirmed the effect.
	VerdictDone Verdict = iota + 1
	// VerdictRefused means that the receiver refused permanently; another attempt is useless.
	VerdictRefused
	// VerdictTurnedAway means that the receiver refused, so the effect certainly was not applied.
	// An operator may fix the cause (a route that is not deployed yet, a wrong secret), so another
	// attempt may help.
	VerdictTurnedAway
	// VerdictNotApplied means that the effect certainly was not applied (refused connection, DNS,
	// TLS, 429). Another attempt may help.
	VerdictNotApplied
	// VerdictMaybeApplied means that the outcome is unknown (timeout after sending, reset,
	// 5xx).
	VerdictMaybeApplied
)
