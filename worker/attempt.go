package worker

import (
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// task describes an attempt to make, in a job's run or directly after a dispatch.
type task struct {
	id    identity.EffectID
	jobID int64
	probe bool // see ledger.Claim
	// If true, the settlement of a first attempt that applied the effect also deletes the job.
	endsJob bool
	// keepsJob applies to an attempt that no job makes. Once the effect is done, the effect's
	// waiting job is completed if keepsJob is true, and deleted otherwise.
	keepsJob bool
	// called, if not nil, runs between the end of the call and the settlement.
	called func()
}

// attempt is the result of a task: unanswered, denied or ended. It is created when the result is
// complete, and never changes.
type attempt interface {
	// granted reports whether the claim was granted. If granted returns false, nothing was
	// attempted, and the rate token is free for another run.
	granted() bool
}

// unanswered is the result of a task whose claim the ledger neither granted nor denied.
type unanswered struct{ err error }

// denied is the result of a task whose claim the ledger denied, with the reason.
type denied struct{ ledger.Claimed }

// ended is the result of a task whose claim the ledger granted and whose attempt has ended.
type ended struct {
	call

	began   time.Time // start of the call, or earlier
	settled ledger.Settled
	// err is the error of the settlement. If it is not nil, the ledger may not contain the outcome.
	err error
}

// call is an attempt's call to its destination.
type call struct {
	effect   *ledger.Effect // includes the request as it was sent
	made     bool           // true if the sender was called
	outcome  destination.Outcome
	duration time.Duration

	abandoned bool      // true if the sender did not return in time
	notBefore time.Time // earliest start of the next attempt; zero if only the schedule decides
}

func (unanswered) granted() bool { return false }
func (denied) granted() bool     { return false }
func (ended) granted() bool      { return true }

// leftRetry is the minimum wait before the next run of an effect that this process left to another
// process. Any process may make that run.
const leftRetry = time.Second

// settlement returns the record of a call for the ledger. Only counted attempts lengthen the wait
// and use up the maximum number of attempts. A probe can be the last attempt only if ownFault is
// true.
func (c *call) settlement(l *served, t task, ownFault bool) ledger.Settlement {
	counted := c.effect.Attempt - c.effect.UncountedAttempts
	retryIn := l.Retry.Delay(max(counted, 1), c.outcome.RetryAfter, nil)
	if c.outcome.Left {
		retryIn = max(leftRetry, c.outcome.RetryAfter)
	}
	usedUp := l.Retry.Exhausted(counted) && (!t.probe || ownFault) && !c.outcome.Left
	return ledger.Settlement{
		Effect:          *c.effect,
		Verdict:         c.outcome.Verdict,
		Duration:        c.duration,
		ResponseStatus:  c.outcome.Status,
		ResponseExcerpt: c.outcome.Excerpt,
		Error:           errorText(c.outcome.Err),
		RetryIn:         max(retryIn, time.Until(c.notBefore)),
		GiveUp:          usedUp || c.outcome.NeedsPerson,
		Unauthorized:    lane.Unauthorized(c.outcome.Status),
		Uncounted:       c.outcome.Left && !t.probe,
		RotateKey:       c.outcome.StoredError && l.OnStoredError == OnStoredErrorNewKey,
		EndsJob:         t.endsJob && c.effect.Attempt == 1,
		KeepsJob:        t.keepsJob,
	}
}

// refusedFor returns how long the effect's attempts have been unauthorized without interruption, by
// the database's clock. It is 0 unless the previous attempt was unauthorized.
func (c *call) refusedFor() time.Duration {
	if c.effect.RefusedSince.IsZero() {
		return 0
	}
	return c.effect.LastAttemptAt.Sub(c.effect.RefusedSince)
}
