package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/tracing"
	"github.com/hooklatch/hooklatch/worker/destination"
)

const (
	// settleTries and settlePause are for a ledger that is busy, or that was
	// away for longer than it repeats by itself. The pause doubles.
	settleTries = 3
	settlePause = 100 * time.Millisecond
	// minSettle is what an attempt keeps of its lease for its settlement.
	minSettle = ledgerSlack / 2
)

// effectRun is one run of T3, and what came of it.
type effectRun struct {
	id    identity.EffectID
	jobID int64
	probe bool

	status    outbox.ClaimStatus
	woken     bool
	ownFault  bool // see outbox.Claimed
	effect    outbox.Effect
	attempted bool // the claim was granted; what follows is set
	called    bool // the destination was called
	leaseEnds time.Time
	sent      destination.Outcome
	duration  time.Duration
	settled   outbox.Settled
	err       error // of the ledger
}

// perform claims the effect, calls the destination and settles: T3.
func (w *Worker) perform(ctx context.Context, l *lane, run effectRun) effectRun {
	claimID, err := uuid.NewV7()
	if err != nil {
		run.err = fmt.Errorf("make claim id: %w", err)
		return run
	}
	claim := outbox.Claim{
		ID:      run.id,
		ClaimID: claimID,
		Lease:   l.lease(),
		JobID:   run.jobID,
		FirstRequest: l.Sender.FirstRequest(&outbox.Effect{
			EffectID:       run.id,
			IdempotencyKey: run.id.IdempotencyKey(),
			Destination:    l.Name,
		}),
		KeyTTL: l.KeyTTL,
		Probe:  run.probe,
	}
	if sender, ok := l.Sender.(destination.Transactional); ok {
		return w.performInTx(ctx, l, sender, claim, run)
	}
	// The lease begins when the ledger grants it: no sooner than now.
	run.leaseEnds = time.Now().Add(claim.Lease)
	claimed, err := w.outbox.Claim(ctx, claim)
	run.status, run.woken, run.ownFault, run.effect = claimed.Status, claimed.Woken, claimed.OwnFault, claimed.Effect
	if claimed.Status != outbox.ClaimGranted {
		run.err = err
		w.notGranted(ctx, l, run)
		return run
	}
	run.attempted = true
	ctx, span := w.startAttempt(ctx, &run.effect)
	start := time.Now()
	// With err, the request could not be loaded: nothing is sent.
	if err != nil {
		run.sent = notSent(err)
	} else {
		w.send(ctx, l, &run)
	}
	run.duration = time.Since(start)
	run.settled, run.err = w.settle(ctx, settlement(l, run))
	w.attempted(ctx, l, &run, span)
	return run
}

// performInTx does it all in one transaction, which the ledger repeats when it
// does not learn whether it was committed.
func (w *Worker) performInTx(ctx context.Context, l *lane, sender destination.Transactional, claim outbox.Claim, run effectRun) effectRun {
	var span trace.Span
	claimed, settled, err := w.outbox.RunTx(ctx, claim, func(ctx context.Context, tx pgx.Tx, e outbox.Effect) (outbox.Settlement, error) {
		if span == nil {
			ctx, span = w.startAttempt(ctx, &e)
		}
		run.effect, run.attempted, run.called = e, true, true
		start := time.Now()
		var broken error
		run.sent, broken = runStatement(ctx, sender, tx, &e)
		run.duration = time.Since(start)
		if broken != nil {
			run.sent = destination.Outcome{Verdict: outbox.VerdictNotApplied, Err: broken}
		}
		return settlement(l, run), broken
	})
	run.status, run.woken, run.settled, run.err = claimed.Status, claimed.Woken, settled, err
	if err != nil || claimed.Status != outbox.ClaimGranted || span == nil {
		if span != nil {
			endSpan(span, outcomeError, err)
		}
		run.effect, run.attempted, run.called = claimed.Effect, false, false
		w.notGranted(ctx, l, run)
		return run
	}
	w.attempted(trace.ContextWithSpan(ctx, span), l, &run, span)
	return run
}

// runStatement turns a panic of the sender into a broken transaction, which is
// rolled back.
func runStatement(ctx context.Context, sender destination.Transactional, tx pgx.Tx, e *outbox.Effect) (sent destination.Outcome, broken error) {
	defer func() {
		if v := recover(); v != nil {
			broken = newPanicError(v)
		}
	}()
	return sender.Run(ctx, tx, e)
}

// settlement is what the ledger is told of an attempt. Only attempts that count
// make the wait longer and use up those there are; a probe that does not count
// never ends its effect.
func settlement(l *lane, run effectRun) outbox.Settlement {
	counted := run.effect.Attempt - run.effect.UncountedAttempts
	usedUp := l.Retry.Exhausted(counted) && (!run.probe || run.ownFault)
	return outbox.Settlement{
		Effect:          run.effect,
		Verdict:         run.sent.Verdict,
		Duration:        run.duration,
		ResponseStatus:  run.sent.Status,
		ResponseExcerpt: run.sent.Excerpt,
		Error:           errorText(run.sent.Err),
		RetryIn:         l.Retry.Delay(max(counted, 1), run.sent.RetryAfter, nil),
		GiveUp:          usedUp || run.sent.NeedsPerson,
		Unauthorized:    isUnauthorized(run.sent.Status),
		RotateKey:       run.sent.StoredError && l.OnStoredError == OnStoredErrorNewKey,
	}
}

func (w *Worker) startAttempt(ctx context.Context, effect *outbox.Effect) (context.Context, trace.Span) {
	attempt := work{
		name: "process effect", queue: effect.Queue, messageID: effect.IdempotencyKey,
		from: effect.Traceparent, receivedAt: effect.EventReceivedAt, again: effect.Attempt > 1,
	}
	attrs := []attribute.KeyValue{
		tracing.Destination.String(effect.Destination),
		tracing.EffectKey.String(effect.IdempotencyKey),
		tracing.Attempt.Int(effect.Attempt),
	}
	if effect.Event != (identity.EventRef{}) {
		attrs = append(attrs,
			tracing.Source.String(effect.Event.Source),
			tracing.EventID.String(effect.Event.EventID),
			tracing.EventType.String(effect.EventType))
	}
	return w.telemetry.startSpan(ctx, attempt, attrs...)
}

// attempted reports an attempt, and pauses the destination if that is what the
// attempts say.
func (w *Worker) attempted(ctx context.Context, l *lane, run *effectRun, span trace.Span) {
	w.telemetry.effectDuration.Record(ctx, run.duration.Seconds(),
		metric.WithAttributes(attribute.String(attrDestination, l.Name)))
	outcome, err := string(run.settled.State), run.sent.Err
	switch {
	case run.err != nil:
		outcome = outcomeError
		run.err = fmt.Errorf("settle attempt %d: %w", run.effect.Attempt, run.err)
		err = run.err
	case run.settled.Late:
		outcome, err = outcomeLate, errors.New("the attempt had lost its lease")
	}
	endSpan(span, outcome, err)
	w.count(ctx, l, &run.effect, outcome)
	w.log(ctx, *run, outcome, err)
	// A stop of this process is no fault of the destination, and the probe job
	// deals with probes.
	if run.called && !run.probe && !errors.Is(ctx.Err(), context.Canceled) {
		if reason := l.breaker.record(run.sent, run.refusedFor()); reason != "" {
			w.trip(ctx, l, reason)
		}
	}
}

// refusedFor is how long before this attempt the first of those began that were
// all refused like it; 0 when the last was not. Both times are the database's.
func (r *effectRun) refusedFor() time.Duration {
	if r.effect.RefusedSince.IsZero() {
		return 0
	}
	return r.effect.LastAttemptAt.Sub(r.effect.RefusedSince)
}

// notGranted reports what a claim did on its own.
func (w *Worker) notGranted(ctx context.Context, l *lane, run effectRun) {
	switch {
	case run.err != nil:
	case run.status == outbox.ClaimParked:
		w.count(ctx, l, &run.effect, string(outbox.EffectParked))
		w.log(ctx, run, string(outbox.EffectParked), errors.New(run.effect.Error))
	case run.status == outbox.ClaimSuperseded:
		w.count(ctx, l, &run.effect, string(outbox.ClaimSuperseded))
	}
}

// send calls the destination, once the request is what will always be sent. A
// panic of the sender may have come after the request was on the wire.
func (w *Worker) send(ctx context.Context, l *lane, run *effectRun) {
	if run.effect.Request.Late {
		// Refetching has a time-out of its own, and sends nothing.
		if out := w.renderLate(ctx, &run.effect); out != nil {
			run.sent = *out
			return
		}
	}
	if time.Until(run.leaseEnds) < l.Timeout+minSettle {
		run.sent = destination.Outcome{Verdict: outbox.VerdictNotApplied, Err: errLeaseShort}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			run.sent = destination.Outcome{Verdict: outbox.VerdictMaybeApplied, Err: newPanicError(v)}
		}
	}()
	run.called = true
	run.sent = l.Sender.Send(ctx, &run.effect)
}

// errLeaseShort ends an attempt before its call: another could begin while the
// receiver is still at it.
var errLeaseShort = errors.New("too little of the lease was left for a call: the ledger, or this process, was slow")

// settle records the outcome even when the job's time is over: what is not
// settled is in doubt. It may be repeated.
func (w *Worker) settle(ctx context.Context, s outbox.Settlement) (outbox.Settled, error) {
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
