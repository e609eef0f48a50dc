package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// minSettle is the part of the lease that an attempt reserves for its settlement.
const minSettle = ledgerSlack / 2

// errLeaseShort is the error of an attempt that makes no call because too little of its lease is
// left. The lease could end during the call, and another attempt could begin while the receiver
// still processes the call.
var errLeaseShort = errors.New("too little of the lease was left for a call: the ledger or this process was slow")

// attempter makes attempts (T3). It does not depend on River: effectWorker and probeWorker pass it
// tasks and report the results to River. The type births passes it first attempts, which begin when
// their dispatch is committed.
//
// The order of the steps makes an attempt safe. The destination is called only after the ledger has
// granted the claim. The request is committed before it is sent. The settlement carries the
// attempt's number, so an attempt that lost its lease settles nothing. If a crash interrupts any
// step after the claim, the ledger already contains the attempt.
type attempter struct {
	ledger    *ledger.Ledger
	events    eventReader
	fleet     *fleet.Fleet
	routing   *atomic.Pointer[routing]
	telemetry *telemetry
	// trip pauses a destination whose attempts show that it is down.
	trip     func(ctx context.Context, l *served, reason string, failing time.Duration)
	patience time.Duration // senderPatience, or less in tests
}

// eventReader loads an event with its body.
type eventReader interface {
	Event(ctx context.Context, ref identity.EventRef) (*inbox.Event, error)
}

// run claims the effect, calls the destination and settles the attempt.
func (a *attempter) run(ctx context.Context, l *served, t task) attempt {
	claim, err := claimOf(l, t)
	if err != nil {
		return unanswered{err}
	}
	if sender, ok := l.Sender.(destination.Transactional); ok {
		return a.runInTx(ctx, l, sender.Run, t, claim)
	}
	return a.runClaim(ctx, l, t, claim)
}

// runClaim requests a claim, and makes the attempt if it is granted.
func (a *attempter) runClaim(ctx context.Context, l *served, t task, claim ledger.Claim) attempt {
	// The ledger grants the lease after this moment, so the lease cannot end before leaseEnds.
	leaseEnds := time.Now().Add(claim.Lease)
	claimed, err := a.ledger.Claim(ctx, claim)
	if err != nil || claimed.Status != ledger.ClaimGranted {
		return a.notGranted(ctx, l, t, claimed, err)
	}
	return a.perform(ctx, l, t, &claimed, leaseEnds, nil)
}

// perform makes an attempt that the ledger granted. If err is not nil, the attempt cannot be
// made and err is its outcome.
func (a *attempter) perform(ctx context.Context, l *served, t task, claimed *ledger.Claimed, leaseEnds time.Time, err error) attempt {
	began := time.Now()
	if err == nil {
		err = a.ledger.LoadBody(ctx, &claimed.Effect)
	}
	ctx, span := a.telemetry.startAttempt(ctx, &claimed.Effect)
	made := call{effect: &claimed.Effect}
	if err != nil {
		made.outcome = notSent(err)
	} else {
		made = a.call(ctx, l, &claimed.Effect, leaseEnds)
	}
	if t.called != nil {
		t.called()
	}
	settled, err := a.settle(ctx, made.settlement(l, t, claimed.OwnFault))
	return a.end(ctx, l, t, span, ended{call: made, began: began, settled: settled, err: err})
}

// inTx applies an effect in a transaction: see destination.Transactional.
type inTx func(ctx context.Context, tx pgx.Tx, e *ledger.Effect) (destination.Outcome, error)

// errNotCommitted is the error of an attempt whose statement succeeded, but whose transaction the
// server refused to commit. The error that the ledger stores for the effect contains the server's
// code.
var errNotCommitted = errors.New("the server refused to commit the effect's transaction")

// runInTx makes the whole attempt in one transaction. The ledger repeats the transaction if the
// result of its COMMIT is unknown.
func (a *attempter) runInTx(ctx context.Context, l *served, run inTx, t task, claim ledger.Claim) attempt {
	first := time.Now()
	var span trace.Span // shared by all runs of the transaction; nil before the first run
	var last call
	claimed, settled, err := a.ledger.RunTx(ctx, claim, func(ctx context.Context, tx pgx.Tx, e ledger.Effect) (ledger.Settlement, error) {
		if span == nil {
			ctx, span = a.telemetry.startAttempt(ctx, &e)
		}
		if last.abandoned { // do not call the sender again: its connection is closed
			last.effect = &e
			return last.settlement(l, t, false), last.outcome.Err
		}
		began := time.Now()
		outcome, broken := a.runStatement(ctx, l, run, tx, e)
		if broken != nil {
			outcome = destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: broken}
		}
		last = call{effect: &e, made: true, abandoned: isAbandoned(broken), outcome: outcome, duration: time.Since(began)}
		return last.settlement(l, t, false), broken
	})
	if err != nil || claimed.Status != ledger.ClaimGranted || span == nil {
		if span != nil {
			endSpan(span, outcomeError, err)
		}
		return a.notGranted(ctx, l, t, claimed, err)
	}
	if last.outcome.Verdict == ledger.VerdictDone && !settled.Late && settled.State != ledger.EffectDone {
		last.outcome = destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: errNotCommitted}
	}
	return a.end(trace.ContextWithSpan(ctx, span), l, t, span, ended{call: last, began: first, settled: settled})
}

// claimOf returns the claim for an attempt, with a new ClaimID. If the response to a claim is
// lost, the same claim is sent again and gets the same attempt.
func claimOf(l *served, t task) (ledger.Claim, error) {
	claimID, err := uuid.NewV7()
	if err != nil {
		return ledger.Claim{}, fmt.Errorf("make claim id: %w", err)
	}
	return ledger.Claim{
		ID:      t.id,
		ClaimID: claimID,
		Lease:   l.lease(),
		JobID:   t.jobID,
		FirstRequest: l.Sender.FirstRequest(&ledger.Effect{
			EffectID:       t.id,
			IdempotencyKey: t.id.IdempotencyKey(),
			Destination:    l.Name,
		}),
		KeyTTL: l.KeyTTL,
		Probe:  t.probe,
	}, nil
}

// notGranted returns the result of a task whose claim was not granted. It also counts an effect
// that the claim parked or superseded.
func (a *attempter) notGranted(ctx context.Context, l *served, t task, claimed ledger.Claimed, err error) attempt {
	if err != nil {
		return unanswered{err}
	}
	switch claimed.Status {
	case ledger.ClaimParked:
		a.telemetry.countEffect(ctx, l, &claimed.Effect, string(ledger.EffectParked))
		a.telemetry.logAttempt(ctx, t, &call{effect: &claimed.Effect}, string(ledger.EffectParked), errors.New(claimed.Effect.Error))
	case ledger.ClaimSuperseded:
		a.telemetry.countEffect(ctx, l, &claimed.Effect, string(ledger.ClaimSuperseded))
	}
	return denied{claimed}
}

// call calls the destination. If the request is not rendered yet, the method render first renders
// the request that every attempt will send.
func (a *attempter) call(ctx context.Context, l *served, effect *ledger.Effect, leaseEnds time.Time) call {
	began := time.Now()
	if effect.Request.Late {
		// A refetch has its own timeout. If it fails, nothing was sent, so no call counts as made.
		fixed, out := a.render(ctx, l, effect)
		if out != nil {
			return call{effect: effect, abandoned: isAbandoned(out.Err), outcome: *out, duration: time.Since(began)}
		}
		effect = fixed
	}
	if time.Until(leaseEnds) < l.Timeout+minSettle {
		out := destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: errLeaseShort}
		return call{effect: effect, outcome: out, duration: time.Since(began)}
	}
	if err := failpoint.Hit("effect.before_call"); err != nil {
		return call{effect: effect, outcome: notSent(err), duration: time.Since(began)}
	}
	out := a.send(ctx, l, effect)
	if isAbandoned(out.Err) {
		// The request may still be on the wire: no other attempt may begin within the lease.
		return call{effect: effect, made: true, abandoned: true, outcome: out, duration: time.Since(began), notBefore: leaseEnds}
	}
	if err := failpoint.Hit("effect.answered"); err != nil {
		out = destination.Outcome{Verdict: ledger.VerdictMaybeApplied, Err: err}
	}
	return call{effect: effect, made: true, outcome: out, duration: time.Since(began)}
}

// errLeft means that an effect's request is rendered by another process.
var errLeft = errors.New("another process has the newest configuration for the source and renders the request")

// errNoSource means that no running process has the source of an effect's event.
var errNoSource = errors.New("no running process has the source, so the request is not rendered yet")

// leftAlone is the maximum number of times that an effect is left while no running process has its
// source. leftAloneRetry is the wait in between. Together they give a process that has the source
// ten minutes to restart.
const (
	leftAlone      = 120
	leftAloneRetry = 5 * time.Second
)

// render renders the request of an effect whose route has a refetch, with the current routes. It
// commits the request before anything is sent, so this attempt and all later ones send the same
// request (I7). It returns an outcome if the attempt has nothing to send.
//
// A process with an older configuration may lack the route, or render another request, so it leaves
// the effect to a process with a newer one. A process without the source leaves the effect to any
// process that has the source. If no such process runs, the effect waits for one: see leftAlone.
func (a *attempter) render(ctx context.Context, l *served, effect *ledger.Effect) (*ledger.Effect, *destination.Outcome) {
	routing := a.routing.Load()
	left, err := a.fleet.RendersElsewhere(ctx, effect.Event.Source, l.Name, routing.announced, routing.has(string(effect.Event.Source)))
	if err != nil {
		out := notSent(err)
		return effect, &out
	}
	if left {
		return effect, &destination.Outcome{Verdict: ledger.VerdictNotApplied, Left: true, Err: errLeft}
	}
	if routing.announced.Number > 0 && !routing.has(string(effect.Event.Source)) && effect.UncountedAttempts < leftAlone {
		return effect, &destination.Outcome{Verdict: ledger.VerdictNotApplied, Left: true, RetryAfter: leftAloneRetry, Err: errNoSource}
	}
	event, err := a.events.Event(ctx, effect.Event)
	if err != nil {
		out := notSent(fmt.Errorf("load event: %w", err))
		return effect, &out
	}
	type rendered struct {
		request ledger.Request
		out     *destination.Outcome
	}
	own := *effect // an abandoned sender may still read it
	made, err := callSender(ctx, l, bounds{refetchSlack, a.patience}, func(ctx context.Context) (made rendered) {
		made.request, made.out = routing.table.Render(ctx, event, &own)
		return made
	})
	if err != nil {
		out := notSent(err)
		return effect, &out
	}
	if made.out != nil {
		return effect, made.out
	}
	fixed, err := a.ledger.FixRequest(ctx, *effect, made.request)
	if err != nil {
		return effect, &destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: fmt.Errorf("keep rendered request: %w", err)}
	}
	return &fixed, nil
}

// settle records the outcome even if ctx is done, because an unsettled attempt is in doubt. It
// tries again if the ledger is busy, or is still unavailable after the ledger's own retries.
func (a *attempter) settle(ctx context.Context, s ledger.Settlement) (settled ledger.Settled, err error) {
	ctx = context.WithoutCancel(ctx)
	for range (retry.Pauses{First: 100 * time.Millisecond, Max: time.Second, Tries: 3}).Until(ctx) {
		settled, err = a.ledger.Settle(ctx, s)
		if !errors.Is(err, commit.ErrBusy) && !errors.Is(err, commit.ErrUnavailable) {
			break
		}
	}
	if err != nil {
		return ledger.Settled{}, fmt.Errorf("settle attempt %d: %w", s.Effect.Attempt, err)
	}
	return settled, nil
}

// end counts and logs an attempt, and pauses the destination if its attempts show that it is down.
func (a *attempter) end(ctx context.Context, l *served, t task, span trace.Span, e ended) attempt {
	outcome, err := string(e.settled.State), e.outcome.Err
	switch {
	case e.err != nil:
		outcome, err = outcomeError, e.err
	case e.settled.Late:
		outcome, err = outcomeLate, errors.New("the attempt had lost its lease")
	}
	a.telemetry.timeEffect(ctx, l, e.duration)
	endSpan(span, outcome, err)
	a.telemetry.countEffect(ctx, l, e.effect, outcome)
	a.telemetry.tally.effect(e.effect, outcome, e.duration)
	a.telemetry.logAttempt(ctx, t, &e.call, outcome, err)
	if e.abandoned {
		a.telemetry.countAbandoned(ctx, l, e.effect)
	}
	// A stop of this process is not the destination's fault. probeWorker evaluates probes itself.
	if e.made && !t.probe && !errors.Is(ctx.Err(), context.Canceled) {
		reason, failing := l.RecordAttempt(e.outcome, e.refusedFor(), time.Since(e.began))
		switch {
		case reason != "":
			reason += ", the last with: " + errorLine(e.outcome)
		case e.abandoned && l.Stuck() && !l.Breaker.Off:
			reason = fmt.Sprintf("%d attempts were abandoned and have not returned", l.Abandoned())
		}
		if reason != "" {
			a.trip(ctx, l, reason, failing)
		}
	}
	return e
}
