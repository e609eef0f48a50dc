package worker

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

func TestDispatchToEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type call struct{ body, key string }
	calls := make(chan call, 10)
	b.to(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{body: string(body), key: r.Header.Get("Idempotency-Key")}
		w.WriteHeader(http.StatusAccepted)
	})
	w := b.worker(t)
	events := b.start(t, w)
	b.accept(t, "evt_1", false)

	dispatch := next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted)
	require.Equal(t, output{Outcome: "dispatched", Effects: 1, DurationMS: outputOf(t, dispatch).DurationMS}, outputOf(t, dispatch))
	effect := next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	require.Equal(t, "dst_app", effect.Queue)
	require.Equal(t, output{Outcome: "done", HTTPStatus: 202, Applied: "yes", DurationMS: outputOf(t, effect).DurationMS}, outputOf(t, effect))

	id := identity.EffectID{Scope: "route:stripe:everything", Key: "evt_1", Generation: 1}
	require.Equal(t, call{body: `{"id":"evt_1","amount":5}`, key: id.IdempotencyKey()}, <-calls)
	require.Empty(t, calls)
	e := b.event(t, "evt_1")
	require.Equal(t, inbox.Dispatched, e.Outcome)
	require.Equal(t, "test", e.ConfigHash)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done' AND attempt = 1`))

	stop(t, w)
	first := map[string]any{"outcome": "dispatched", "source": testSource, "first_attempt": true}
	require.EqualValues(t, 1, b.counted(t, "hooklatch.dispatch.attempts", first))
	require.EqualValues(t, 1, b.counted(t, "hooklatch.effect.attempts", map[string]any{"outcome": "done", "destination": "app", "first_attempt": true}))
	lines := b.lines(t, "effect attempted")
	require.Len(t, lines, 1)
	require.Equal(t, "evt_1", lines[0]["event_id"])
	require.Equal(t, "done", lines[0]["outcome"])
	require.Len(t, b.lines(t, "event dispatched"), 1)
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.to(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, "slow down\x00")
		}
	})
	events := b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)

	failed := next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	out := outputOf(t, failed)
	require.Equal(t, "pending", out.Outcome)
	require.Equal(t, 429, out.HTTPStatus)
	require.Equal(t, "no", out.Applied)
	require.Equal(t, failed.ScheduledAt.UTC().Format(time.RFC3339), out.NextAt, "River runs the job at the ledger's time")
	require.Equal(t, "app: HTTP 429 Too Many Requests", failed.Errors[0].Error, "the receiver's body is not quoted")

	done := next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	require.Equal(t, "done", outputOf(t, done).Outcome)
	require.False(t, done.AttemptedAt.Before(failed.ScheduledAt))
	require.EqualValues(t, 2, calls.Load())
}

func TestRefusedEffectIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	events := b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)

	job := next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)
	require.Equal(t, "failed", outputOf(t, job).Outcome)
	require.Contains(t, job.Errors[0].Error, "app: failed: HTTP 400 Bad Request")
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'failed' AND attempt = 1`))
}

func TestAttemptsUsedUpAreParked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		func(d *DestinationOptions) { d.Retry.MaxAttempts = 2 })
	events := b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)

	require.Equal(t, "in_doubt", outputOf(t, next(t, events, riverjob.KindEffect, river.EventKindJobFailed)).Outcome)
	job := next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)
	require.Equal(t, "parked", outputOf(t, job).Outcome)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'parked' AND attempt = 2`))
}

// An error text with a NUL byte must not reach River: it would stop River's completer forever.
func TestNULDoesNotStopCompletions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.worker(t)
	w.Handle("*", "*", failWithNUL)
	events := b.start(t, w)
	b.accept(t, "evt_poison", true)
	b.accept(t, "evt_good", false)

	seen := map[string]bool{}
	for len(seen) < 2 {
		e := <-events
		if e.Job.Kind != riverjob.KindDispatch {
			continue
		}
		require.Equal(t, river.EventKindJobFailed, e.Kind)
		require.NotContains(t, e.Job.Errors[0].Error, "\x00")
		require.Contains(t, e.Job.Errors[0].Error, "bad body second line")
		seen[e.Job.Queue] = true
	}
	require.Len(t, seen, 2)
	// The events are dispatched again and again, so a run may be under way at any one moment.
	waitFor(t, b, `SELECT (count(*) = 0)::int FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'running'`)
	require.NotContains(t, strings.Join(strings.Fields(string(b.logs.bytes())), " "), "Completer error")
}

// stubborn is a faulty sender that ignores its context.
type stubborn struct {
	fakeSender

	calls   chan int // attempt numbers
	release chan struct{}
}

func (s *stubborn) Send(_ context.Context, e *ledger.Effect) destination.Outcome {
	s.calls <- e.Attempt
	if e.Attempt == 1 {
		<-s.release
	}
	return destination.Outcome{Verdict: ledger.VerdictDone, Status: 200}
}

// A run whose job is rescued keeps the effect until the lease ends: the ledger's lease decides, not
// River.
func TestRescuedRunKeepsItsLease(t *testing.T) {
	t.Parallel()
	for _, expired := range []bool{false, true} {
		name := "LeaseLives"
		if expired {
			name = "LeaseExpired"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.opts.JobTimeout, b.opts.RescueAfter = 10*time.Second, 10100*time.Millisecond
			sender := &stubborn{fakeSender: "http", calls: make(chan int, 10), release: make(chan struct{})}
			b.opts.Destinations = []DestinationOptions{{Name: "app", Sender: sender, Timeout: time.Minute}} // so that no lease expires during the test
			b.opts.Routes = []route.Route{{Name: "everything", From: []string{"*"}, To: "app"}}
			w := b.worker(t)
			w.attempts.patience = time.Hour // the first run continues, even on a slow machine
			events := b.start(t, w)
			b.accept(t, "evt_1", false)
			require.Equal(t, 1, <-sender.calls)
			if expired {
				_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET lease_until = now() - interval '1 second'`)
				require.NoError(t, err)
			}
			rescue(t, b, w, riverjob.KindEffect)
			if !expired {
				snoozed := next(t, events, riverjob.KindEffect, river.EventKindJobSnoozed)
				require.WithinRange(t, snoozed.ScheduledAt, time.Now(), time.Now().Add(2*time.Minute))
				close(sender.release)
				stop(t, w)
				require.Empty(t, sender.calls, "the receiver was called once")
				require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done' AND attempt = 1`))
				require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND state = 'scheduled'`),
					"the next run completes the job")
				return
			}
			require.Equal(t, 2, <-sender.calls)
			next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
			close(sender.release)
			stop(t, w)
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done' AND attempt = 2`))
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND state = 'completed'`))
			require.EqualValues(t, 1, b.counted(t, "hooklatch.effect.attempts", map[string]any{"outcome": outcomeLate, "first_attempt": true}))
			require.EqualValues(t, 1, b.counted(t, "hooklatch.effect.attempts", map[string]any{"outcome": "done", "first_attempt": false}))
		})
	}
}

func TestPanicOfSenderIsInDoubt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.Destinations = []DestinationOptions{{Name: "app", Sender: panicking("http"), Policy: ledger.AtMostOnce}}
	b.opts.Routes = []route.Route{{Name: "everything", From: []string{"*"}, To: "app"}}
	events := b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)
	job := next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)
	require.Regexp(t, `^app: parked: panic: string at github\.com/hooklatch/hooklatch/worker\.panicking\.Send:\d+$`, job.Errors[0].Error)
	require.Equal(t, "unknown", outputOf(t, job).Applied)
}

type panicking string

func (p panicking) Kind() string                               { return string(p) }
func (p panicking) FirstRequest(*ledger.Effect) ledger.Request { return ledger.Request{} }
func (p panicking) Send(context.Context, *ledger.Effect) destination.Outcome {
	panic("oh\x00no")
}

func TestNextRetry(t *testing.T) {
	t.Parallel()
	failed := func(texts ...string) *rivertype.JobRow {
		row := &rivertype.JobRow{}
		for _, text := range texts {
			row.Errors = append(row.Errors, rivertype.AttemptError{Error: text})
		}
		return row
	}
	near := func(want time.Duration, got time.Time) {
		t.Helper()
		require.InDelta(t, want, time.Until(got), float64(want)/4+float64(300*time.Millisecond))
	}
	effects, dispatches := &effectWorker{}, &dispatchWorker{}
	ledger := time.Now().Add(time.Hour)
	require.Equal(t, ledger, effects.NextRetry(&river.Job[effectArgs]{JobRow: failed(), Args: effectArgs{ran: true, next: ledger}}))
	near(0, effects.NextRetry(&river.Job[effectArgs]{JobRow: failed(rescueError, "x", "x"), Args: effectArgs{}}))
	near(time.Second, effects.NextRetry(&river.Job[effectArgs]{JobRow: failed(rescueError), Args: effectArgs{ran: true}}))
	near(maxEffectBackoff, effects.NextRetry(&river.Job[effectArgs]{JobRow: failed(make([]string, 50)...), Args: effectArgs{ran: true}}))
	past := effects.NextRetry(&river.Job[effectArgs]{JobRow: failed(), Args: effectArgs{ran: true, next: time.Now().Add(-time.Hour)}})
	require.True(t, past.After(time.Now()), "River rejects a time in the past")

	near(0, dispatches.NextRetry(&river.Job[dispatchArgs]{JobRow: failed("x", "x"), Args: dispatchArgs{}}))
	near(4*time.Second, dispatches.NextRetry(&river.Job[dispatchArgs]{JobRow: failed("x", rescueError, "x"), Args: dispatchArgs{ran: true}}))
	near(time.Hour, dispatches.NextRetry(&river.Job[dispatchArgs]{JobRow: failed(make([]string, 24)...), Args: dispatchArgs{ran: true}}))
}
