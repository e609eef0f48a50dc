package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/lane"
)

const (
	// minSnooze is the shortest wait for a time that the ledger or a handler gives. Without it, a
	// process whose clock is ahead of the database's would query the ledger again immediately.
	minSnooze = 250 * time.Millisecond
	// blockedSnooze is the shortest wait of an ordered effect that must wait for an earlier
	// event's dispatch. The wait is a quarter of the time that the effect has been due, so that
	// old effects query less often, and at most maxBlockedSnooze. Up to half of it is added at
	// random.
	blockedSnooze    = 500 * time.Millisecond
	maxBlockedSnooze = 30 * time.Second
	// pausedSnooze is the wait of an effect that this process can neither attempt nor set aside. A
	// random part, up to the same length, is added to each wait.
	pausedSnooze = 5 * time.Second
	// withheldSnooze is the wait of an effect that is withheld until an operator confirms the
	// server. As for pausedSnooze, a random part is added, because thousands of effects may wait
	// for hours.
	withheldSnooze = 10 * time.Second
)

// effectArgs are the arguments of an effect job, and the state that a run leaves for NextRetry.
type effectArgs struct {
	riverjob.EffectArgs

	ran  bool      // false if the rescuer calls NextRetry
	next time.Time // the ledger's time for the next attempt; zero if the ledger did not answer
}

// effectWorker passes the tasks of effect jobs to the attempter.
type effectWorker struct {
	river.WorkerDefaults[effectArgs]
	*Worker
}

// NextRetry implements river.Worker. The ledger sets the schedule: it counts attempts, not runs. A
// rescued job runs again after minSnooze: the claim finds out whether the dead attempt's lease has
// ended.
func (w *effectWorker) NextRetry(job *river.Job[effectArgs]) time.Time {
	// River treats a past time as an error.
	soonest := clock.Now().Add(minSnooze)
	switch {
	case !job.Args.ran:
		return soonest
	case job.Args.next.IsZero():
		return clock.Now().Add(backoff(failures(job.JobRow), maxEffectBackoff))
	case job.Args.next.Before(soonest):
		return soonest
	}
	return job.Args.next
}

// Work implements river.Worker.
func (w *effectWorker) Work(ctx context.Context, job *river.Job[effectArgs]) error {
	job.Args.ran = true
	w.telemetry.jobStarted(ctx, job.JobRow)
	l, known := w.lanes[job.Args.Destination]
	if !known {
		return w.leaveToOthers(ctx, job)
	}
	l.NoteWait(clock.Since(job.ScheduledAt))
	if err := l.Enter(ctx); err != nil {
		return w.waitForRoom(ctx, l, job.ID, err)
	}
	made := w.attempts.run(ctx, l, task{id: job.Args.ID(), jobID: job.ID, endsJob: !w.keepsJobs})
	l.Leave(!made.granted())
	switch made := made.(type) {
	case unanswered:
		return fmt.Errorf("%s: %w", l.Name, made.err)
	case denied:
		return w.concludeDenied(ctx, l, job.ID, made)
	case ended:
		return w.concludeEnded(ctx, l, job, made)
	}
	return fmt.Errorf("%s: an attempt ended as %T", l.Name, made)
}

// leaveToOthers gives back a job whose destination is not configured in this process. Processes
// with different configurations share, or once shared, the job's queue.
func (w *effectWorker) leaveToOthers(ctx context.Context, job *river.Job[effectArgs]) error {
	if _, told := w.foreign.LoadOrStore("destination "+job.Args.Destination, true); !told {
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "effect left to another process",
			slog.String(logkey.Destination, job.Args.Destination),
			slog.String(logkey.Queue, job.Queue),
			slog.String(logkey.Reason, "this process has no such destination; this is logged once"))
	}
	if err := w.fleet.Redirect(ctx, job.ID); err != nil {
		return err
	}
	return river.JobSnooze(pausedSnooze + rand.N(pausedSnooze)) //nolint:gosec // no secret depends on it
}

// waitForRoom sets aside a job that found no slot, or whose rate token becomes valid much later.
func (w *effectWorker) waitForRoom(ctx context.Context, l *served, jobID int64, err error) error {
	snooze, ok := errors.AsType[*rivertype.JobSnoozeError](err)
	if !ok || snooze.Duration == 0 {
		return err
	}
	if snooze.Duration > lane.NoSlotSnooze {
		l.NoTokenFor(snooze.Duration)
	}
	return w.setAside(ctx, l, jobID)
}

// setAside moves a job to a queue that no worker reads. The recaller of a process that serves the
// job's destination moves the job back later. See fleet.SetAside.
func (w *effectWorker) setAside(ctx context.Context, l *served, jobID int64) error {
	if err := w.fleet.SetAside(ctx, l.Name, jobID); err != nil {
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "effect is checked again soon", slog.String(logkey.Destination, l.Name), errAttr(err))
		return river.JobSnooze(pausedSnooze + rand.N(pausedSnooze)) //nolint:gosec // no secret depends on it
	}
	l.SetAside()
	return river.JobSnooze(0)
}

// concludeDenied ends the run of a job for which no attempt was made.
func (w *effectWorker) concludeDenied(ctx context.Context, l *served, jobID int64, d denied) error {
	effect := &d.Effect
	switch d.Status {
	case ledger.ClaimNotDue:
		return river.JobSnooze(max(clock.Until(effect.NextAttemptAt), minSnooze))
	case ledger.ClaimLeased:
		return river.JobSnooze(max(clock.Until(effect.LeaseUntil), minSnooze))
	case ledger.ClaimBlocked:
		if d.Woken {
			return output{Outcome: outcomeWaits}.record(ctx)
		}
		wait := min(max(clock.Since(effect.NextAttemptAt)/4, blockedSnooze), maxBlockedSnooze)
		return river.JobSnooze(wait + rand.N(wait/2)) //nolint:gosec // no secret depends on it
	case ledger.ClaimPaused:
		if d.Withheld {
			return river.JobSnooze(withheldSnooze + rand.N(withheldSnooze)) //nolint:gosec // no secret depends on it
		}
		l.Forget()
		return w.setAside(ctx, l, jobID)
	case ledger.ClaimParked:
		return w.finish(ctx, l, effect, output{Outcome: string(ledger.EffectParked), Applied: "unknown"}, effect.Error)
	case ledger.ClaimSuperseded:
		return w.finish(ctx, l, effect, output{Outcome: string(ledger.EffectCancelled)}, "a newer effect of the same object was applied: "+effect.SupersededBy)
	case ledger.ClaimFinished:
		return w.finish(ctx, l, effect, output{Outcome: outcomeAlready + " " + string(effect.State)}, onlyByCommand(effect))
	case ledger.ClaimMissing:
		return river.JobCancel(fmt.Errorf("%s: the effect no longer exists", l.Name))
	case ledger.ClaimGranted: // impossible: a granted claim is attempted
	}
	return fmt.Errorf("%s: claim answered %q", l.Name, d.Status)
}

// onlyByCommand returns a text for an operator who retried the job of a finished effect. It
// explains that retrying the job does not retry the effect.
func onlyByCommand(effect *ledger.Effect) string {
	text := "retrying the job does not retry the effect; use: hooklatch effects retry " + effect.IdempotencyKey
	if effect.Error != "" {
		text += "; it ended with: " + effect.Error
	}
	return text
}

// concludeEnded ends the run of a job whose attempt has ended.
func (w *effectWorker) concludeEnded(ctx context.Context, l *served, job *river.Job[effectArgs], e ended) error {
	if e.err != nil {
		return fmt.Errorf("%s: %w", l.Name, e.err)
	}
	if e.settled.Late {
		// Another attempt has taken over the effect, or an operator has parked or cancelled the
		// effect. The job's next run queries the ledger again.
		return river.JobSnooze(l.lease())
	}
	if e.settled.State == ledger.EffectDone && e.effect.Attempt == 1 && !w.keepsJobs {
		return nil // the settlement has deleted the job
	}
	out := output{
		Outcome:    string(e.settled.State),
		HTTPStatus: e.outcome.Status,
		DurationMS: e.duration.Milliseconds(),
		Applied:    applied(e.outcome.Verdict),
	}
	if e.settled.State.Finished() {
		return w.finish(ctx, l, e.effect, out, errorLine(e.outcome))
	}
	job.Args.next = e.settled.NextAttemptAt
	out.NextAt = e.settled.NextAttemptAt.UTC().Format(time.RFC3339)
	if err := out.record(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%s: %s", l.Name, errorLine(e.outcome))
}

// finish ends the job of a finished effect. It completes the job if the effect is done, and
// cancels it otherwise.
func (w *effectWorker) finish(ctx context.Context, l *served, effect *ledger.Effect, out output, reason string) error {
	if err := out.record(ctx); err != nil {
		return err
	}
	if out.Outcome == string(ledger.EffectDone) || effect.State == ledger.EffectDone {
		return nil
	}
	return river.JobCancel(fmt.Errorf("%s: %s: %s", l.Name, out.Outcome, reason))
}
