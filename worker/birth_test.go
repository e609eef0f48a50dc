package worker

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// bearing returns a Worker that attempts effects as soon as they are dispatched.
func (b *bundle) bearing(t *testing.T) *Worker {
	t.Helper()
	w := b.worker(t)
	w.births.off = false
	return w
}

const effectDone = `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`

func TestAnEffectIsAttemptedByWhoDispatchedIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type call struct{ body, key, contentType string }
	calls := make(chan call, 10)
	b.to(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{body: string(body), key: r.Header.Get("Idempotency-Key"), contentType: r.Header.Get("Content-Type")}
	})
	w := b.bearing(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, effectDone)
	stop(t, w)
	id := identity.EffectID{Scope: "route:stripe:everything", Key: "evt_1", Generation: 1}
	require.Equal(t, call{body: `{"id":"evt_1","amount":5}`, key: id.IdempotencyKey(), contentType: "application/json"}, <-calls)
	require.Empty(t, calls)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE attempt = 1 AND applied = 'yes'`))
	require.EqualValues(t, 1, b.counted(t, "hooklatch.effect.attempts", map[string]any{"outcome": "done", "destination": "app", "first_attempt": true}))
	lines := b.lines(t, "effect attempted")
	require.Len(t, lines, 1)
	require.NotZero(t, lines[0]["job_id"])
	require.Zero(t, w.lanes["app"].Taken())
}

// A first attempt that begins with its dispatch saves one update of the effect's row and two
// updates of its job's row.
func TestWhatABirthSpares(t *testing.T) {
	t.Parallel()
	const events = 20
	for _, c := range []struct {
		byJobs  bool
		effects int // updates of effect rows
		jobs    int // updates of job rows, of both effects and events
		deleted int
	}{
		{byJobs: true, effects: 2 * events, jobs: 4 * events},
		{byJobs: false, effects: events, jobs: 2 * events, deleted: events},
	} {
		b := setup(t)
		b.to(t, func(http.ResponseWriter, *http.Request) {}, func(d *DestinationOptions) { d.Concurrency = 2 * events })
		w := b.bearing(t)
		w.births.off = c.byJobs
		b.start(t, w)
		for i := range events {
			b.accept(t, fmt.Sprint("evt_", i), false)
		}
		require.Eventually(t, func() bool { return b.count(t, effectDone) == events }, 2*time.Minute, time.Millisecond)
		stop(t, w)
		written := func(what, table string) int {
			return b.count(t, `SELECT `+what+` FROM pg_stat_user_tables WHERE schemaname = 'hooklatch' AND relname = $1`, table)
		}
		b.pool.Reset() // a server process reports its statistics when it exits
		require.Eventually(t, func() bool {
			return written("n_tup_upd", "effects") >= c.effects && written("n_tup_del", "river_job") >= c.deleted
		}, 2*time.Minute, 10*time.Millisecond)
		// Upkeep also has jobs. On a busy machine, a transaction may be rolled back and repeated.
		require.InDelta(t, c.effects, written("n_tup_upd", "effects"), events/2)
		require.InDelta(t, c.deleted, written("n_tup_del", "river_job"), events/2)
		require.InDelta(t, c.jobs, written("n_tup_upd", "river_job"), events/2)
	}
}

func TestTheNextAttemptOfABornEffectIsAJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.to(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	events := b.start(t, b.bearing(t))
	b.accept(t, "evt_1", false)
	job := next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	require.Equal(t, "done", outputOf(t, job).Outcome)
	require.Len(t, job.Errors, 1)
	require.Equal(t, 2, job.Attempt)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done' AND attempt = 2 AND job_id = $1`, job.ID))
}

// born accepts and dispatches an event, but does not begin its first attempt, as if the process had
// died before the call.
func (b *bundle) born(t *testing.T, w *Worker, id string) (*inbox.Event, *firstAttempts, outbox.Dispatched) {
	t.Helper()
	b.accept(t, id, false)
	event := b.event(t, id)
	effects, err := w.routing.Load().table.Plan(t.Context(), event)
	require.NoError(t, err)
	expected := w.births.expect(event, effects)
	require.Len(t, expected.of, 1)
	dispatched, err := b.outbox.Dispatch(t.Context(), outbox.Dispatch{Event: event, Effects: effects})
	require.NoError(t, err)
	require.Len(t, dispatched.Started, 1)
	return event, expected, dispatched
}

func TestTheJobOfABornEffectTakesOverFromADeadProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	b.born(t, b.bearing(t), "evt_1")
	events := b.start(t, b.worker(t))
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'completed'`)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'started' AND attempt = 1`), "the lease of the attempt has not expired")
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET lease_until = now()`)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET scheduled_at = now() WHERE kind = 'effect' AND state = 'scheduled'`)
	require.NoError(t, err)
	require.Equal(t, "done", outputOf(t, next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)).Outcome)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE attempt = 2 AND maybe_applied_since = first_attempt_at`))
}

// If the response to the COMMIT of a dispatch is lost, the next try finds the event already
// dispatched. No destination has been called yet, so the process claims the effect and makes the
// attempt.
func TestABirthOfUnknownOutcomeIsAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.bearing(t)
	_, expected, _ := b.born(t, w, "evt_1")
	expected.begin(t.Context(), outbox.Dispatched{}, nil)
	w.running.Wait()
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done' AND attempt = 1 AND maybe_applied_since IS NULL`))
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`))

	// The dispatch is committed later, after the process has failed to get a response.
	b.accept(t, "evt_late", false)
	event := b.event(t, "evt_late")
	effects, err := w.routing.Load().table.Plan(t.Context(), event)
	require.NoError(t, err)
	w.births.expect(event, effects).begin(t.Context(), outbox.Dispatched{}, commit.ErrUnavailable)
	_, err = b.outbox.Dispatch(t.Context(), outbox.Dispatch{Event: event, Effects: effects})
	require.NoError(t, err)
	w.running.Wait()
	require.Equal(t, 2, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done' AND attempt = 1 AND maybe_applied_since IS NULL`))

	// Another process holds the claim.
	_, expected, dispatched := b.born(t, w, "evt_2")
	other := w.births.expect(&inbox.Event{Generation: 1}, []ledger.NewEffect{{EffectID: dispatched.Created[0], Destination: "app"}})
	other.begin(t.Context(), outbox.Dispatched{}, nil)
	w.running.Wait()
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'started' AND attempt = 1`))
	expected.begin(t.Context(), dispatched, nil)
	w.running.Wait()
	require.Equal(t, 3, b.count(t, effectDone))
	require.Zero(t, w.lanes["app"].Taken())
}

// A claim that a process repeats is not taken back. Otherwise the attempt could be settled as not
// applied while the call is in flight.
func TestABirthThatIsAskedForIsNotTakenBack(t *testing.T) {
	t.Parallel()
	sound := setup(t)
	pool, f, err := fault.NewPool(t.Context(), pgtest.URL(t, sound.pool))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := onPool(t, pool)
	b.to(t, func(http.ResponseWriter, *http.Request) {}, func(d *DestinationOptions) { d.Timeout = time.Minute })
	w := b.bearing(t)
	_, expected, _ := b.born(t, w, "evt_1")
	f.Arm(fault.Hang, 1) // the first claim of ask is committed, but not answered
	expected.begin(t.Context(), outbox.Dispatched{}, nil)
	w.running.Wait()
	require.Equal(t, 1, f.Count())
	require.Equal(t, 1, sound.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done' AND attempt = 1`))
}

func TestStopWaitsForWhatWasBorn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.SoftStop = 2 * time.Minute
	called, release := make(chan struct{}), make(chan struct{})
	b.to(t, func(http.ResponseWriter, *http.Request) {
		close(called)
		<-release
	})
	w := b.bearing(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	<-called
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'completed'`)
	ended := make(chan error)
	go func() { ended <- w.Stop(context.Background()) }()
	require.Eventually(t, w.births.stopped.Load, 2*time.Minute, time.Millisecond)
	select {
	case err := <-ended:
		t.Fatalf("stopped with an attempt under way: %v", err)
	default:
	}
	close(release)
	require.NoError(t, <-ended)
	require.Equal(t, 1, b.count(t, effectDone))
}

// If a dispatch gets no response and its effect never appears, a stop does not wait for the
// effect.
func TestAStopAwaitsNoEffectThatIsMissing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) { t.Error("called") })
	w := b.bearing(t)
	b.accept(t, "evt_1", false)
	event := b.event(t, "evt_1")
	effects, err := w.routing.Load().table.Plan(t.Context(), event)
	require.NoError(t, err)
	w.births.expect(event, effects).begin(t.Context(), outbox.Dispatched{}, commit.ErrUnavailable)
	require.Equal(t, 1, w.lanes["app"].Taken())
	ended := w.births.stop(time.Hour)
	defer ended()
	require.Eventually(t, func() bool { return w.lanes["app"].Taken() == 0 }, 2*time.Minute, time.Millisecond)
	w.running.Wait()
}

// An attempt that is cancelled after the soft stop is still settled, and does not count against
// the destination.
func TestTheSoftStopEndsWhatWasBorn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	called, release := make(chan struct{}), make(chan struct{})
	b.to(t, func(http.ResponseWriter, *http.Request) {
		close(called)
		<-release
	}, func(d *DestinationOptions) { d.Breaker.Failures = 1 })
	t.Cleanup(func() { close(release) })
	b.opts.SoftStop = time.Millisecond
	w := b.bearing(t)
	w.attempts.patience = time.Minute // on a busy machine, the cancelled call needs time to return
	b.start(t, w)
	b.accept(t, "evt_1", false)
	<-called
	stop(t, w)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'in_doubt'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND state = 'available'`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.destinations WHERE breaker_state = 'closed'`))
}

// If a stop comes before the call of a first attempt, the attempt is settled as not applied. The
// effect is not in doubt, and another process can attempt it immediately.
func TestAStopBeforeTheCallGivesBackWhatWasBorn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) { t.Error("called") })
	w := b.bearing(t)
	_, expected, dispatched := b.born(t, w, "evt_1")
	w.births.end()
	expected.begin(t.Context(), dispatched, nil)
	w.running.Wait()
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'pending' AND attempt = 1 AND maybe_applied_since IS NULL`))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND state = 'available'`))
}

// inPostgres is the sender of a destination in the same Postgres.
type inPostgres struct{ fakeSender }

func (inPostgres) Run(context.Context, pgx.Tx, *ledger.Effect) (destination.Outcome, error) {
	return destination.Outcome{}, nil
}

func TestWhatIsNotBorn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *births, event *inbox.Event, e *ledger.NewEffect){
		"at_most_once":       func(_ *births, _ *inbox.Event, e *ledger.NewEffect) { e.Policy = ledger.AtMostOnce },
		"in an order":        func(_ *births, _ *inbox.Event, e *ledger.NewEffect) { e.OrderKey = "one" },
		"with latest_by":     func(_ *births, _ *inbox.Event, e *ledger.NewEffect) { e.LatestKey = "one" },
		"refetched":          func(_ *births, _ *inbox.Event, e *ledger.NewEffect) { e.Request.Late = true },
		"parked":             func(_ *births, _ *inbox.Event, e *ledger.NewEffect) { e.Parked = "a template failed" },
		"rated":              func(_ *births, _ *inbox.Event, e *ledger.NewEffect) { e.Destination = "rated" },
		"a statement":        func(_ *births, _ *inbox.Event, e *ledger.NewEffect) { e.Destination = "books" },
		"of another process": func(_ *births, _ *inbox.Event, e *ledger.NewEffect) { e.Destination = "nobody" },
		"of a replay":        func(_ *births, event *inbox.Event, _ *ledger.NewEffect) { event.Generation = 2 },
		"while stopping":     func(b *births, _ *inbox.Event, _ *ledger.NewEffect) { b.stop(time.Hour) },
		"behind a backlog":   func(b *births, _ *inbox.Event, _ *ledger.NewEffect) { b.lanes["app"].NoteWait(time.Minute) },
		"in a lane that is full": func(b *births, _ *inbox.Event, _ *ledger.NewEffect) {
			for begins := true; begins; {
				_, begins = b.lanes["app"].BeginFirst(time.Now())
			}
		},
	} {
		lanes := map[string]*served{
			"app":   serve(DestinationOptions{Name: "app", Concurrency: 4, Sender: fakeSender("http")}, nil),
			"rated": serve(DestinationOptions{Name: "rated", Concurrency: 4, Rate: 100, Sender: fakeSender("http")}, nil),
			"books": serve(DestinationOptions{Name: "books", Concurrency: 4, Sender: inPostgres{fakeSender("sql")}}, nil),
		}
		b := newBirths(nil, lanes, new(underway), false)
		event, e := &inbox.Event{Generation: 1}, ledger.NewEffect{EffectID: identity.EffectID{Key: "1"}, Destination: "app"}
		require.Len(t, b.expect(event, []ledger.NewEffect{e}).of, 1)
		taken := lanes["app"].Taken()
		change(b, event, &e)
		taken = max(taken, lanes["app"].Taken())
		effects := []ledger.NewEffect{e}
		require.Empty(t, b.expect(event, effects).of, name)
		require.Nil(t, effects[0].Claim, name)
		require.Equal(t, taken, lanes["app"].Taken(), name)
		b.end()
	}
}

// The slot of a first attempt is free as soon as its call has ended, even if the settlement takes a
// long time.
func TestSettlementsFreeTheSlotOfTheirCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held := make(chan pgx.Tx, 1)
	b.to(t, func(http.ResponseWriter, *http.Request) {
		tx, err := b.pool.Begin(context.WithoutCancel(t.Context()))
		if err == nil {
			_, err = tx.Exec(t.Context(), "SELECT FROM hooklatch.effects FOR UPDATE")
		}
		if err != nil {
			t.Error(err)
		}
		held <- tx
	})
	w := b.bearing(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	tx := <-held
	require.Eventually(t, func() bool { return w.lanes["app"].Taken() == 0 }, 2*time.Minute, time.Millisecond)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'started'`))
	require.NoError(t, tx.Rollback(t.Context()))
	waitFor(t, b, effectDone)
	stop(t, w)
}
