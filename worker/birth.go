package worker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// births makes the first attempts of effects that this process dispatches, if their destination has
// a free slot. The transaction that creates such an effect also claims it. The effect's job is a
// fallback in case this process dies.
type births struct {
	attempts *attempter
	lanes    map[string]*served
	running  *underway // attempts that a stop waits for
	life     context.Context
	end      context.CancelFunc // cancels running attempts
	stopped  atomic.Bool        // if true, no further first attempt begins
	off      bool               // if true, jobs make all attempts; for tests and measurements

	keepsJobs bool // see Options.KeepJobs
}

func newBirths(attempts *attempter, lanes map[string]*served, running *underway, keepsJobs bool) *births {
	b := &births{attempts: attempts, lanes: lanes, running: running, keepsJobs: keepsJobs}
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// birth is an effect whose first attempt begins when its dispatch is committed.
type birth struct {
	of        *served
	slot      *lane.First
	claim     ledger.Claim
	leaseEnds time.Time // earliest end of the lease
}

// firstAttempts are the attempts that begin when an event's dispatch is committed.
type firstAttempts struct {
	births *births
	event  *inbox.Event
	of     []birth
}

// expect finds the effects of an event that can be attempted as soon as the dispatch is committed.
// As long as slots are free, it reserves a slot for each of these effects and adds a claim to the
// effect. The caller must call begin or giveBack after the dispatch.
func (b *births) expect(event *inbox.Event, effects []ledger.NewEffect) *firstAttempts {
	expected := &firstAttempts{births: b, event: event}
	if b.off || b.stopped.Load() || event.Generation > 1 {
		return expected
	}
	for i := range effects {
		e := &effects[i]
		l, known := b.lanes[e.Destination]
		twice := slices.ContainsFunc(expected.of, func(x birth) bool { return x.claim.ID == e.EffectID })
		if !known || twice || !mayBeBorn(l, e) {
			continue
		}
		slot, begins := l.BeginFirst(time.Now())
		if !begins {
			continue
		}
		claim, err := claimOf(l, task{id: e.EffectID})
		if err != nil {
			slot.End()
			continue
		}
		e.Claim = &claim
		expected.of = append(expected.of, birth{of: l, slot: slot, claim: claim, leaseEnds: time.Now().Add(claim.Lease)})
	}
	return expected
}

// mayBeBorn reports whether an effect may be attempted as soon as it is created. It returns false
// for effects that belong to an order, need a rate token or are rendered late. It also returns
// false for parked effects, at_most_once effects, and effects that are applied in the transaction
// of their claim. If the attempt of an at_most_once effect were lost, the effect would need an
// operator.
func mayBeBorn(l *served, e *ledger.NewEffect) bool {
	_, inTx := l.Sender.(destination.Transactional)
	return !inTx && !l.Limited() && e.Policy != ledger.AtMostOnce && e.OrderKey == "" && e.LatestKey == "" && e.Parked == "" && !e.Request.Late
}

// begin starts the attempts whose claims were committed, each in a separate goroutine, and frees
// the other slots. It queries the ledger if the dispatch got no response, because the claims may be
// committed. It also queries the ledger if the event was already dispatched, because an earlier try
// of this dispatch may have committed the claims.
func (f *firstAttempts) begin(ctx context.Context, dispatched outbox.Dispatched, err error) {
	unsure := errors.Is(err, commit.ErrUnavailable) || err == nil && !dispatched.Fenced && !dispatched.Left
	b, born := f.births, f.of
	f.of = nil
	for _, x := range born {
		at := slices.IndexFunc(dispatched.Started, func(e ledger.Effect) bool { return e.EffectID == x.claim.ID })
		switch {
		case at >= 0:
			claimed := &ledger.Claimed{Status: ledger.ClaimGranted, Effect: dispatched.Started[at]}
			claimed.Effect.EventReceivedAt = f.event.ReceivedAt
			b.run(ctx, x, func(ctx context.Context) { b.attempt(ctx, x, claimed) })
		case unsure:
			b.run(ctx, x, func(ctx context.Context) { b.ask(ctx, x, err != nil) })
		default:
			x.slot.End()
		}
	}
}

// giveBack frees the slots of attempts that did not begin. It may be called again.
func (f *firstAttempts) giveBack() {
	for _, x := range f.of {
		x.slot.End()
	}
	f.of = nil
}

// run makes one attempt in a new goroutine. The attempt's context has the values of the dispatch's
// context, but only stop cancels it.
func (b *births) run(job context.Context, x birth, attempt func(context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(job))
	detach := context.AfterFunc(b.life, cancel)
	if b.life.Err() != nil {
		cancel() // AfterFunc calls cancel in a goroutine, which may be too late
	}
	b.running.attempt(func() {
		defer x.slot.End()
		defer cancel()
		defer detach()
		defer func() {
			if v := recover(); v != nil { // the effect's job takes over when the lease has ended
				b.attempts.telemetry.logger.ErrorContext(ctx, "attempt panicked",
					slog.String(logkey.Destination, x.of.Name),
					slog.String(logkey.EffectKey, x.claim.ID.IdempotencyKey()),
					slog.String(logkey.Err, oneLine(newPanicError(v).Error())),
					slog.String(logkey.Stack, string(debug.Stack())))
			}
		}()
		attempt(ctx)
	})
}

// attempt makes the first attempt of an effect. If a stop cancels the attempt before its call, the
// attempt is settled as not applied.
func (b *births) attempt(ctx context.Context, x birth, claimed *ledger.Claimed) {
	err := failpoint.Hit("effect.born")
	if err == nil {
		err = ctx.Err()
	}
	t := task{id: claimed.Effect.EffectID, jobID: claimed.Effect.JobID, keepsJob: b.keepsJobs, called: x.slot.Called}
	b.attempts.perform(ctx, x.of, t, claimed, x.leaseEnds, err)
}

// ask repeats a claim that the dispatch may have committed, until the ledger answers or the lease
// would have ended. If the claim is granted, ask makes the attempt: the destination has not been
// called for this claim yet. If pending is true, the effect may still be committed, so ask
// continues while the effect is missing.
func (b *births) ask(ctx context.Context, x birth, pending bool) {
	asking, cancel := context.WithDeadline(ctx, x.leaseEnds)
	defer cancel()
	claim := x.claim
	claim.Repeated = true
	for range (retry.Pauses{First: 100 * time.Millisecond, Max: time.Second}).Until(asking) {
		switch made := b.attempts.runClaim(ctx, x.of, task{id: x.claim.ID, keepsJob: b.keepsJobs, called: x.slot.Called}, claim).(type) {
		case unanswered:
		case denied:
			// A stop does not wait: if the effect appears later, its job takes over after the lease.
			if !pending || made.Status != ledger.ClaimMissing || b.stopped.Load() {
				return
			}
		default:
			return
		}
	}
}

// stop prevents new attempts, and cancels running attempts after d. The returned function cancels
// them immediately.
func (b *births) stop(d time.Duration) (ended func()) {
	b.stopped.Store(true)
	timer := time.AfterFunc(d, b.end)
	return func() {
		timer.Stop()
		b.end()
	}
}
