package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/logkey"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/worker/destination"
)

const (
	// minSnooze keeps a run that comes a little early, by a clock that is a
	// little ahead of the database's, from asking again at once.
	minSnooze = 250 * time.Millisecond
	// blockedSnooze is when an ordered effect asks again that got its job before
	// its turn: an event before its own is being dispatched.
	blockedSnooze = 500 * time.Millisecond
	// pausedSnooze is when an effect of a paused destination asks again, in a
	// queue that others share. It is spread over twice the time.
	pausedSnooze = 5 * time.Second
)

// effectJob is outbox.EffectArgs with what the run leaves for NextRetry.
type effectJob struct {
	riverjob.EffectArgs

	ran  bool      // false when the rescuer asks
	next time.Time // when the ledger says; zero when it did not answer
}

// effectWorker is T3 for one effect.
type effectWorker struct {
	river.WorkerDefaults[effectJob]
	*Worker
}

// NextRetry implements river.Worker. The schedule is the ledger's, which
// counts attempts and not runs. A rescued job runs at once: it is the claim
// that knows whether the dead attempt's lease has ended.
func (w *effectWorker) NextRetry(job *river.Job[effectJob]) time.Time {
	// River takes a time that has passed for a mistake.
	soonest := time.Now().Add(minSnooze)
	switch {
	case !job.Args.ran:
		return soonest
	case job.Args.next.IsZero():
		return time.Now().Add(backoff(failures(job.JobRow), maxEffectBackoff))
	case job.Args.next.Before(soonest):
		return soonest
	}
	return job.Args.next
}

// Work implements river.Worker.
func (w *effectWorker) Work(ctx context.Context, job *river.Job[effectJob]) error {
	job.Args.ran = true
	w.telemetry.jobStarted(ctx, job.JobRow)
	l, known := w.lanes[job.Args.Destination]
	if !known {
		return w.leaveToOthers(ctx, job)
	}
	if err := l.enter(ctx); err != nil {
		return err
	}
	run := w.perform(ctx, l, effectRun{id: job.Args.ID(), jobID: job.ID})
	l.leave(!run.attempted)
	return w.conclude(ctx, l, job, run)
}

// leaveToOthers gives back a job that came here because processes of different
// configurations share its queue, or shared it once.
func (w *effectWorker) leaveToOthers(ctx context.Context, job *river.Job[effectJob]) error {
	if _, told := w.foreign.LoadOrStore("destination "+job.Args.Destination, true); !told {
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "effect left to another process",
			slog.String(logkey.Destination, job.Args.Destination),
			slog.String(logkey.Queue, job.Queue),
			slog.String(logkey.Reason, "this process has no such destination; this is logged once"))
	}
	if err := w.outbox.Redirect(ctx, job.ID); err != nil {
		return err
	}
	return river.JobSnooze(pausedSnooze + rand.N(pausedSnooze)) //nolint:gosec // no secret depends on it
}

// conclude tells River how the run ended.
func (w *effectWorker) conclude(ctx context.Context, l *lane, job *river.Job[effectJob], run effectRun) error {
	effect := &run.effect
	switch {
	case run.err != nil:
		return fmt.Errorf("%s: %w", l.Name, run.err)
	case run.attempted:
		return w.concludeAttempt(ctx, l, job, run)
	}
	switch run.status {
	case outbox.ClaimNotDue:
		return river.JobSnooze(max(time.Until(effect.NextAttemptAt), minSnooze))
	case outbox.ClaimLeased:
		return river.JobSnooze(max(time.Until(effect.LeaseUntil), minSnooze))
	case outbox.ClaimBlocked:
		if run.woken {
			return output{Outcome: outcomeWaits}.record(ctx)
		}
		return river.JobSnooze(blockedSnooze)
	case outbox.ClaimPaused:
		l.breaker.reset()
		return river.JobSnooze(pausedSnooze + rand.N(pausedSnooze)) //nolint:gosec // no secret depends on it
	case outbox.ClaimParked:
		return w.finish(ctx, l, effect, output{Outcome: string(outbox.EffectParked), Applied: "unknown"}, effect.Error)
	case outbox.ClaimSuperseded:
		return w.finish(ctx, l, effect, output{Outcome: string(outbox.EffectCancelled)}, "a newer effect of the same object was applied: "+effect.SupersededBy)
	case outbox.ClaimFinished:
		return w.finish(ctx, l, effect, output{Outcome: outcomeAlready + " " + string(effect.State)}, onlyByCommand(effect))
	case outbox.ClaimMissing:
		return river.JobCancel(fmt.Errorf("%s: there is no such effect any more", l.Name))
	case outbox.ClaimGranted: // and nothing was attempted: not possible
	}
	return fmt.Errorf("%s: claim answered %q", l.Name, run.status)
}

// onlyByCommand is for whoever retried the job of a finished effect: what is
// done with effects, the ledger decides.
func onlyByCommand(effect *outbox.Effect) string {
	text := "a retried job does not try it again, this does: hooklatch effects retry " + effect.IdempotencyKey
	if effect.Error != "" {
		text += "; it ended with: " + effect.Error
	}
	return text
}

// concludeAttempt tells River how an attempt ended.
func (w *effectWorker) concludeAttempt(ctx context.Context, l *lane, job *river.Job[effectJob], run effectRun) error {
	if run.settled.Late {
		// Another attempt is in charge of effect and job: leave both alive.
		return river.JobSnooze(l.lease())
	}
	out := output{
		Outcome:    string(run.settled.State),
		HTTPStatus: run.sent.Status,
		DurationMS: run.duration.Milliseconds(),
		Applied:    applied(run.sent.Verdict),
	}
	if run.settled.State.Finished() {
		return w.finish(ctx, l, &run.effect, out, errorLine(run.sent))
	}
	job.Args.next = run.settled.NextAttemptAt
	out.NextAt = run.settled.NextAttemptAt.UTC().Format(time.RFC3339)
	if err := out.record(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%s: %s", l.Name, errorLine(run.sent))
}

// finish ends the job of a finished effect. Only done completes it.
func (w *effectWorker) finish(ctx context.Context, l *lane, effect *outbox.Effect, out output, reason string) error {
	if err := out.record(ctx); err != nil {
		return err
	}
	if out.Outcome == string(outbox.EffectDone) || effect.State == outbox.EffectDone {
		return nil
	}
	return river.JobCancel(fmt.Errorf("%s: %s: %s", l.Name, out.Outcome, reason))
}

func (w *Worker) count(ctx context.Context, l *lane, effect *outbox.Effect, outcome string) {
	w.telemetry.effects.Add(ctx, 1, runAttributes(attrDestination, l.Name, outcome, effect.Attempt <= 1))
}

func (w *Worker) log(ctx context.Context, run effectRun, outcome string, err error) {
	effect := &run.effect
	w.telemetry.logger.LogAttrs(ctx, levelOf(err), "effect attempted",
		slog.String(logkey.Destination, effect.Destination),
		slog.String(logkey.EffectKey, effect.IdempotencyKey),
		slog.String(logkey.Route, effect.Route),
		slog.String(logkey.Source, effect.Event.Source),
		slog.String(logkey.EventID, oneLine(effect.Event.EventID)),
		slog.String(logkey.EventType, oneLine(effect.EventType)),
		slog.String(logkey.Outcome, outcome),
		slog.Int(logkey.Attempt, effect.Attempt),
		slog.Bool(logkey.FirstAttempt, effect.Attempt <= 1),
		slog.Int64(logkey.JobID, run.jobID),
		slog.Float64(logkey.Duration, run.duration.Seconds()),
		errAttr(err))
}

// errorLine says what the receiver, or the way to it, said; never its body. It
// begins with the status where there is one.
func errorLine(sent destination.Outcome) string {
	text, status := errorText(sent.Err), strconv.Itoa(sent.Status)
	if sent.Status == 0 || strings.Contains(text, status) {
		return text
	}
	return status + " " + text
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return oneLine(err.Error())
}

func applied(v outbox.Verdict) string {
	switch v {
	case outbox.VerdictDone:
		return "yes"
	case outbox.VerdictRefused, outbox.VerdictTurnedAway, outbox.VerdictNotApplied:
		return "no"
	case outbox.VerdictMaybeApplied:
	}
	return "unknown"
}

// notSent is the outcome of an attempt that had nothing to send. A delivery
// that is gone does not come back.
func notSent(err error) destination.Outcome {
	verdict := outbox.VerdictNotApplied
	if errors.Is(err, outbox.ErrNotFound) {
		verdict = outbox.VerdictRefused
	}
	return destination.Outcome{Verdict: verdict, Err: err}
}
