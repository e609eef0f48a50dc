package worker

import (
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// task is one attempt requested by a job.
type task struct {
	id    identity.EffectID
	jobID int64
	probe bool // see ledger.Claim
	// If true, the job is no longer needed after the first attempt has done the effect.
	endsJob bool
	// If true, a job that only waited for the attempt is completed, not deleted.
	keepsJob bool
	// called is called when the call has ended, before the attempt is settled. May be nil.
	called func()
}

// attempt is the result of a task: unanswered, denied or ended. Each is created when all of it
// is known, and is only read afterwards.
type attempt interface {
	// granted reports whether the claim was granted. If not, nothing was attempted, and the rate
	// token is free for another run.
	granted() bool
}

// unanswered is an attempt for which the ledger did not decide whether to grant it.
type unanswered struct{ err error }

// denied is an attempt that the ledger did not grant, with the reason.
type denied struct{ ledger.Claimed }

// ended is an attempt that the ledger granted and that has ended.
type ended struct {
	call

	settled ledger.Settled
	// err is the reason why the ledger does not know the outcome yet.
	err error
}

// call is an attempt's call to its destination.
type call struct {
	effect   ledger.Effect // includes the request as it was sent
	made     bool          // true if anything was sent
	outcome  destination.Outcome
	duration time.Duration

	abandoned bool      // true if the sender did not return
	notBefore time.Time // earliest start of the next attempt; zero if only its due time bounds it
}

func (unanswered) granted() bool { return false }
func (denied) granted() bool     { return false }
func (ended) granted() bool      { return true }

// leftRetry is the wait of an effect that this process left to another one. Either process may take
// its job again.
const leftRetry = time.Second

// settlement returns the ledger's record of a call. Only counted attempts lengthen the wait and use
// up attempts. An uncounted probe never ends its effect.
func (c call) settlement(l *served, t task, ownFault bool) ledger.Settlement {
	counted := c.effect.Attempt - c.effect.UncountedAttempts
	retryIn := l.Retry.Delay(max(counted, 1), c.outcome.RetryAfter, nil)
	if c.outcome.Left {
		retryIn = leftRetry
	}
	usedUp := l.Retry.Exhausted(counted) && (!t.probe || ownFault) && !c.outcome.Left
	return ledger.Settlement{
		Effect:          c.effect,
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

// refusedFor returns the time since the effect's refusals began, if its latest attempts were all
// refused like this one. It is 0 if the previous attempt was not refused. Both times are the
// database's.
func (c call) refusedFor() time.Duration {
	if c.effect.RefusedSince.IsZero() {
		return 0
	}
	return c.effect.LastAttemptAt.Sub(c.effect.RefusedSince)
}
