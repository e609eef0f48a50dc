package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/logkey"
	"github.com/hooklatch/hooklatch/worker/destination"
)

const (
	// minSnooze keeps a run that comes a little early, by a clock that is a
	// little ahead of the database's, from asking again at once.
	minSnooze = 250 * time.Millisecond
	// settleTries and settlePause are for a ledger that is busy, or that was
	// away for longer than it repeats by itself. The pause doubles.
	settleTries = 3
	settlePause = 100 * time.Millisecond
)

// effectJob is outbox.EffectArgs with what the run leaves for NextRetry.
type effectJob struct {
	outbox.EffectArgs

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
		return fmt.Errorf("%s: this process has no such destination", job.Args.Destination)
	}
	if err := l.enter(ctx); err != nil {
		return err
	}
	defer l.leave()

	claimed, err := w.claim(ctx, l, job)
	effect := &claimed.Effect
	if err != nil && claimed.Status != outbox.ClaimGranted {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	switch claimed.Status {
	case outbox.ClaimGranted:
		return w.attempt(ctx, l, job, effect, err)
	case outbox.ClaimNotDue:
		return river.JobSnooze(max(time.Until(effect.NextAttemptAt), minSnooze))
	case outbox.ClaimLeased:
		return river.JobSnooze(max(time.Until(effect.LeaseUntil), minSnooze))
	case outbox.ClaimParked:
		w.count(ctx, l, effect, string(outbox.EffectParked))
		w.log(ctx, job, effect, string(outbox.EffectParked), 0, errors.New(effect.Error))
		return w.finish(ctx, l, effect, output{Outcome: string(outbox.EffectParked), Applied: "unknown"}, effect.Error)
	case outbox.ClaimFinished:
		return w.finish(ctx, l, effect, output{Outcome: outcomeAlready + " " + string(effect.State)}, effect.Error)
	case outbox.ClaimMissing:
		return river.JobCancel(fmt.Errorf("%s: there is no such effect any more", l.Name))
	}
	return fmt.Errorf("%s: claim answered %q", l.Name, claimed.Status)
}

// claim asks for one attempt.
func (w *effectWorker) claim(ctx context.Context, l *lane, job *river.Job[effectJob]) (outbox.Claimed, error) {
	claimID, err := uuid.NewV7()
	if err != nil {
		return outbox.Claimed{}, fmt.Errorf("make claim id: %w", err)
	}
	id := job.Args.ID()
	return w.outbox.Claim(ctx, outbox.Claim{
		ID:      id,
		ClaimID: claimID,
		Lease:   l.lease(),
		JobID:   job.ID,
		FirstRequest: l.Sender.FirstRequest(&outbox.Effect{
			EffectID:       id,
			IdempotencyKey: id.IdempotencyKey(),
			Destination:    l.Name,
		}),
	})
}

// attempt makes the call and settles it. With unready, which is why the
// request could not be loaded, nothing is sent.
func (w *effectWorker) attempt(ctx context.Context, l *lane, job *river.Job[effectJob], effect *outbox.Effect, unready error) error {
	ctx, span := w.telemetry.startSpan(ctx, "process effect", effect.Traceparent,
		attribute.String(attrDestination, effect.Destination),
		attribute.String(attrSource, effect.Event.Source),
		attribute.String("messaging.message.id", effect.Event.EventID),
		attribute.String("hooklatch.effect_key", effect.IdempotencyKey),
		attribute.Int("hooklatch.attempt", effect.Attempt))
	start := time.Now()
	sent := notSent(unready)
	if unready == nil {
		sent = send(ctx, l, effect)
	}
	duration := time.Since(start)
	w.telemetry.effectDuration.Record(ctx, duration.Seconds(),
		metric.WithAttributes(attribute.String(attrDestination, l.Name)))

	settled, err := w.settle(ctx, outbox.Settlement{
		Effect:          *effect,
		Verdict:         sent.Verdict,
		Duration:        duration,
		ResponseStatus:  sent.Status,
		ResponseExcerpt: sent.Excerpt,
		Error:           errorText(sent.Err),
		RetryIn:         l.Retry.Delay(effect.Attempt, sent.RetryAfter, nil),
		GiveUp:          l.Retry.Exhausted(effect.Attempt),
	})
	outcome := string(settled.State)
	switch {
	case err != nil:
		outcome, err = outcomeError, fmt.Errorf("%s: settle attempt %d: %w", l.Name, effect.Attempt, err)
	case settled.Late:
		outcome, err = outcomeLate, errors.New("the attempt had lost its lease")
	default:
		err = sent.Err
	}
	endSpan(span, outcome, err)
	w.count(ctx, l, effect, outcome)
	w.log(ctx, job, effect, outcome, duration, err)

	switch {
	case outcome == outcomeError:
		return err
	case settled.Late:
		// Another attempt is in charge of effect and job: leave both alive.
		return river.JobSnooze(l.lease())
	}
	out := output{
		Outcome:    outcome,
		HTTPStatus: sent.Status,
		DurationMS: duration.Milliseconds(),
		Applied:    applied(sent.Verdict),
	}
	if settled.State.Finished() {
		return w.finish(ctx, l, effect, out, errorLine(sent))
	}
	job.Args.next = settled.NextAttemptAt
	out.NextAt = settled.NextAttemptAt.UTC().Format(time.RFC3339)
	if err := out.record(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%s: %s", l.Name, errorLine(sent))
}

// send calls the destination. A panic of the sender may have come after the
// request was on the wire.
func send(ctx context.Context, l *lane, effect *outbox.Effect) (sent destination.Outcome) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			sent = destination.Outcome{Verdict: outbox.VerdictMaybeApplied, Err: newPanicError(v)}
		}
	}()
	return l.Sender.Send(ctx, effect)
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

// settle records the outcome even when the job's time is over: what is not
// settled is in doubt. It may be repeated.
func (w *effectWorker) settle(ctx context.Context, s outbox.Settlement) (outbox.Settled, error) {
	ctx = context.WithoutCancel(ctx)
	pause := settlePause
	for try := 1; ; try++ {
		settled, err := w.outbox.Settle(ctx, s)
		passing := errors.Is(err, outbox.ErrBusy) || errors.Is(err, outbox.ErrUnavailable)
		if !passing || try == settleTries {
			return settled, err
		}
		<-time.After(pause)
		pause *= 2
	}
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

func (w *effectWorker) count(ctx context.Context, l *lane, effect *outbox.Effect, outcome string) {
	w.telemetry.effects.Add(ctx, 1, runAttributes(attrDestination, l.Name, outcome, effect.Attempt <= 1))
}

func (w *effectWorker) log(ctx context.Context, job *river.Job[effectJob], effect *outbox.Effect, outcome string, duration time.Duration, err error) {
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
		slog.Int64(logkey.JobID, job.ID),
		slog.Duration(logkey.Duration, duration),
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
	case outbox.VerdictRefused, outbox.VerdictNotApplied:
		return "no"
	case outbox.VerdictMaybeApplied:
	}
	return "unknown"
}
