package worker

import (
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// task is one attempt that a job asks for.
type task struct {
	id    identity.EffectID
	jobID int64
	probe bool // see ledger.Claim
	// endsJob: the job is of no more use if its effect is done at its first attempt.
	endsJob bool
}

// attempt is what came of a task: unanswered, denied or ended. Each is a value
// that is made when all of it is known, and then only read.
type attempt interface {
	// granted is false when nothing was attempted, so that another run may use
	// the rate token.
	granted() bool
}

// unanswered is an attempt of which the ledger did not say whether it may begin.
type unanswered struct{ err error }

// denied is an attempt that the ledger did not grant, and why.
type denied struct{ ledger.Claimed }

// ended is an attempt that the ledger granted, and that is over.
type ended struct {
	call

	settled ledger.Settled
	// err is why the ledger does not know yet how the attempt ended.
	err error
}

// call is what an attempt did at its destination.
type call struct {
	effect   ledger.Effect // with the request as it was sent
	made     bool          // false: nothing was sent
	outcome  destination.Outcome
	duration time.Duration

	abandoned bool      // the sender did not return
	notBefore time.Time // when another attempt may begin; zero: whenever it is due
}

func (unanswered) granted() bool { return false }
func (denied) granted() bool     { return false }
func (ended) granted() bool      { return true }

// settlement is what the ledger is told of a call. Only attempts that count make
// the wait longer and use up those there are; a probe that does not count never
// ends its effect.
func (c call) settlement(l *served, t task, ownFault bool) ledger.Settlement {
	counted := c.effect.Attempt - c.effect.UncountedAttempts
	usedUp := l.Retry.Exhausted(counted) && (!t.probe || ownFault)
	return ledger.Settlement{
		Effect:          c.effect,
		Verdict:         c.outcome.Verdict,
		Duration:        c.duration,
		ResponseStatus:  c.outcome.Status,
		ResponseExcerpt: c.outcome.Excerpt,
		Error:           errorText(c.outcome.Err),
		RetryIn:         max(l.Retry.Delay(max(counted, 1), c.outcome.RetryAfter, nil), time.Until(c.notBefore)),
		GiveUp:          usedUp || c.outcome.NeedsPerson,
		Unauthorized:    lane.Unauthorized(c.outcome.Status),
		RotateKey:       c.outcome.StoredError && l.OnStoredError == OnStoredErrorNewKey,
		EndsJob:         t.endsJob && c.effect.Attempt == 1,
	}
}

// refusedFor is how long before this attempt the first of those began that were
// all refused like it; 0 when the last was not. Both times are the database's.
func (c call) refusedFor() time.Duration {
	if c.effect.RefusedSince.IsZero() {
		return 0
	}
	return c.effect.LastAttemptAt.Sub(c.effect.RefusedSince)
}
