package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
	"github.com/hooklatch/hooklatch/worker/route"
)

// addHTTP adds a destination, and a route that sends every event to it.
func (b *bundle) addHTTP(t *testing.T, name string, receiver http.HandlerFunc, change func(*DestinationOptions)) {
	t.Helper()
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: name, URL: server.URL, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sender.Close()) })
	d := DestinationOptions{Name: name, Sender: sender, Retry: destination.Schedule{Initial: time.Millisecond, Max: time.Second, Jitter: -1, MaxAttempts: 1000}}
	change(&d)
	b.opts.Destinations = append(b.opts.Destinations, d)
	b.opts.Routes = append(b.opts.Routes, route.Route{Name: "to-" + name, From: []string{"*"}, To: name})
}

// A failing destination is paused, with the reason, while probes fail. No other attempt at the
// destination starts, and other destinations continue. The destination recovers automatically.
func TestBreakerTripsAndRecovers(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared=%t", shared), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var healthy atomic.Bool
			queue := map[bool]string{true: "shared"}[shared]
			counts, err := measure.NewCounts(measure.CountsOptions{Pool: b.pool})
			require.NoError(t, err)
			b.opts.Minutes = counts
			b.addHTTP(t, "down", func(w http.ResponseWriter, _ *http.Request) {
				if !healthy.Load() {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}, func(d *DestinationOptions) {
				d.Queue = queue
				d.Breaker = lane.Breaker{Failures: 5, Probe: 200 * time.Millisecond, MaxProbe: 500 * time.Millisecond}
			})
			b.addHTTP(t, "up", func(http.ResponseWriter, *http.Request) {}, func(d *DestinationOptions) { d.Queue = queue })
			w := b.worker(t)
			b.start(t, w)
			const events = 40
			for i := range events {
				b.take(t, incoming{id: fmt.Sprint("evt_", i), body: `{}`})
			}
			waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'down' AND breaker_state <> 'closed'`)
			var opened time.Time // other attempts may begin until the trip is committed, which is later than OpenedAt
			require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&opened))
			waitFor(t, b, `SELECT count(*) / 40 FROM hooklatch.effects WHERE destination = 'up' AND state = 'done'`)
			states, err := b.outbox.Fleet().Destinations(t.Context())
			require.NoError(t, err)
			down := states[0]
			require.Equal(t, "down", down.Name)
			require.True(t, down.Paused())
			require.Equal(t, !shared, down.QueuePaused, "a queue is paused only if no other destination shares it")
			require.Regexp(t, `failed.*with: HTTP 500`, down.BreakerReason)

			// Only probes continue.
			waitFor(t, b, `SELECT (count(*) >= 3)::int FROM hooklatch.all_attempts AS a JOIN hooklatch.effects AS e USING (scope, key, generation)
				WHERE e.destination = 'down' AND a.started_at > $1::timestamptz + interval '2 seconds'`, opened)
			require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts AS a
				JOIN hooklatch.effects AS e USING (scope, key, generation)
				JOIN hooklatch.river_job AS j ON j.id = a.job_id
				WHERE e.destination = 'down' AND j.kind <> 'upkeep.probe' AND a.started_at > $1::timestamptz + interval '2 seconds'`, opened))

			healthy.Store(true)
			waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'down' AND breaker_state = 'closed'`)
			waitFor(t, b, `SELECT count(*) / 40 FROM hooklatch.effects WHERE destination = 'down' AND state = 'done'`)
			require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_queue WHERE paused_at IS NOT NULL`))
			require.Positive(t, b.counted(t, "hooklatch.breaker.trips", map[string]any{"destination": "down"}))
			stop(t, w)
			require.NoError(t, counts.Stop(t.Context()))
			require.Equal(t, 2, b.count(t, `SELECT count(DISTINCT what) FROM hooklatch.minutes WHERE kind = 'timeline' AND name = 'down' AND what IN ('breaker_opened', 'breaker_closed')`))
		})
	}
}

// refusingSender refuses the effects of evt_0 without a status, as a database does.
type refusingSender struct{ fakeSender }

func (refusingSender) Send(_ context.Context, e *ledger.Effect) destination.Outcome {
	if e.EffectID.Key == "evt_0" {
		return destination.Outcome{Verdict: ledger.VerdictRefused, Err: errors.New("duplicate key")}
	}
	return destination.Outcome{Verdict: ledger.VerdictDone}
}

// A probe whose effect is refused without a status does not show whether the destination works. The
// next probe begins soon, not after the wait that follows a failed probe.
func TestARefusedEffectDoesNotKeepTheBreakerOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.Destinations = []DestinationOptions{{Name: "app", Sender: refusingSender{"http"}, Breaker: lane.Breaker{Probe: time.Millisecond, MaxProbe: time.Hour}}}
	b.opts.Routes = []route.Route{{Name: "all", From: []string{"*"}, To: "app"}}
	w := b.worker(t)
	require.NoError(t, w.registerDestinations(t.Context()))
	require.NoError(t, failure(b.outbox.Fleet().Trip(t.Context(), "app", "it was down", time.Millisecond)))
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.destinations SET opened_at = opened_at - interval '1 day'`)
	require.NoError(t, err)
	b.start(t, w)
	b.take(t, incoming{id: "evt_0", body: `{}`})
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE event_id = 'evt_0' AND state = 'failed'`)
	b.take(t, incoming{id: "evt_1", body: `{}`})
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE event_id = 'evt_1' AND state = 'done'`)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE breaker_state = 'closed'`)
}

// Attempts that were in flight when the breaker opened fail too, in all processes. The breaker opens
// once, and the timeline, the metric and the log each record it once.
func TestABreakerThatOpensOnceIsCountedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	counts, err := measure.NewCounts(measure.CountsOptions{Pool: b.pool})
	require.NoError(t, err)
	b.opts.Minutes = counts
	const together = 6
	var calls atomic.Int32
	all, healthy := make(chan struct{}), make(chan struct{})
	b.addHTTP(t, "down", func(w http.ResponseWriter, r *http.Request) {
		switch n := calls.Add(1); {
		case n == together:
			close(all)
			fallthrough
		case n < together:
			select {
			case <-all:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusInternalServerError)
		default:
			<-healthy
		}
	}, func(d *DestinationOptions) {
		d.Concurrency = together
		d.Breaker = lane.Breaker{Failures: 1, Probe: time.Millisecond}
	})
	one, other := b.worker(t), b.worker(t)
	b.start(t, one)
	b.start(t, other)
	for i := range together {
		b.take(t, incoming{id: fmt.Sprint("evt_", i), body: `{}`})
	}
	waitFor(t, b, "SELECT count(*) / $1 FROM hooklatch.all_attempts", together)
	// Every attempt has ended before the destination recovers and a probe closes the breaker.
	waitFor(t, b, "SELECT (count(*) = 0)::int FROM hooklatch.river_job WHERE kind = 'effect' AND state = 'running'")
	close(healthy)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'down' AND breaker_state = 'closed'`)
	stop(t, one)
	stop(t, other)
	require.NoError(t, counts.Stop(t.Context()))
	for _, what := range []measure.What{measure.BreakerOpened, measure.BreakerClosed} {
		require.Equal(t, 1, b.count(t, `SELECT COALESCE(sum(n), 0) FROM hooklatch.minutes WHERE kind = 'timeline' AND name = 'down' AND what = $1`, what), what)
	}
	require.EqualValues(t, 1, b.counted(t, "hooklatch.breaker.trips", map[string]any{"destination": "down"}))
	require.Len(t, b.lines(t, "destination is down: paused until a probe succeeds"), 1)
}

// A first attempt without a job can open the breaker. The attempt then inserts the probe, as an
// attempt by a job would.
func TestABreakerThatOpensWithoutAJobIsProbed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addHTTP(t, "down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, func(d *DestinationOptions) {
		d.Breaker = lane.Breaker{Failures: 1, Probe: time.Millisecond}
	})
	b.opts.Accepts = true
	w := b.worker(t)
	w.births.off, w.keepsJobs = false, false
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'upkeep.probe'`)
	stop(t, w)
	require.Len(t, b.lines(t, "destination is down: paused until a probe succeeds"), 1)
	require.Empty(t, b.lines(t, "probe not enqueued yet"))
}

// An attempt that was in flight when the breaker opened fails after a probe has closed the breaker.
// The attempt began before the destination recovered, so its failure does not open the breaker again.
func TestAFailureFromBeforeTheProbeOpensNoBreaker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	counts, err := measure.NewCounts(measure.CountsOptions{Pool: b.pool})
	require.NoError(t, err)
	b.opts.Minutes = counts
	var calls atomic.Int32
	both, closed := make(chan struct{}), make(chan struct{})
	b.addHTTP(t, "down", func(w http.ResponseWriter, _ *http.Request) {
		switch calls.Add(1) {
		case 1:
			<-both
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			close(both)
			<-closed
			w.WriteHeader(http.StatusInternalServerError)
		}
	}, func(d *DestinationOptions) {
		d.Concurrency = 4
		d.Breaker = lane.Breaker{Failures: 1, Probe: time.Millisecond}
	})
	w := b.worker(t)
	b.start(t, w)
	for i := range 2 {
		b.take(t, incoming{id: fmt.Sprint("evt_", i), body: `{}`})
	}
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'down' AND breaker_state = 'closed' AND epoch >= 3`)
	close(closed)
	waitFor(t, b, `SELECT (count(*) = 2)::int FROM hooklatch.effects WHERE state = 'done'`)
	stop(t, w)
	require.NoError(t, counts.Stop(t.Context()))
	require.EqualValues(t, 1, b.counted(t, "hooklatch.breaker.trips", map[string]any{"destination": "down"}))
	require.Equal(t, 1, b.count(t, `SELECT sum(n) FROM hooklatch.minutes WHERE kind = 'timeline' AND name = 'down' AND what = 'breaker_opened'`))
}

// A process stalls during a probe for longer than the lease, and another process probes in the
// meantime. The late result is too old to close the breaker.
func TestAProbeThatIsLateClosesNoBreaker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.addHTTP(t, "app", func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			return
		}
		_, err := b.pool.Exec(r.Context(), `UPDATE hooklatch.effects SET lease_until = now() - interval '1 second'`)
		if err == nil {
			_, err = b.outbox.Ledger().Claim(r.Context(), ledger.Claim{ID: b.effects(t)[0].EffectID, ClaimID: uuid.New(), Lease: time.Hour, Probe: true})
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}, func(d *DestinationOptions) { d.Breaker.Probe = time.Millisecond })
	w := b.worker(t)
	require.NoError(t, w.registerDestinations(t.Context()))
	require.NoError(t, failure(b.outbox.Fleet().Trip(t.Context(), "app", "it was down", time.Millisecond)))
	b.start(t, w)
	b.take(t, incoming{id: "evt_1", body: `{}`})
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE attempt = 2`)
	waitFor(t, b, `SELECT (count(*) = 0)::int FROM hooklatch.river_job WHERE kind = 'upkeep.probe' AND state = 'running'`)
	require.EqualValues(t, 1, calls.Load())
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.destinations WHERE breaker_state = 'half_open'`))
}

// Most probes start when they are due, long before the next poll of their queue.
func TestProbesKeepTheirPace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const probes = 12
	b.addHTTP(t, "down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, func(d *DestinationOptions) {
		d.Retry.Max = 10 * time.Millisecond
		// A snooze is stored after its run, on a busy machine up to a second later. If the wake comes
		// earlier, the probe waits for a poll.
		d.Breaker = lane.Breaker{Failures: 1, Probe: 2 * time.Second, MaxProbe: 2 * time.Second}
	})
	b.start(t, b.worker(t))
	b.take(t, incoming{id: "evt_1", body: `{}`})
	waitFor(t, b, `SELECT (count(*) > $1)::int FROM hooklatch.all_attempts`, probes)
	// Without a wake, each probe waits for a poll, and polls are 5 seconds apart.
	require.Equal(t, 1, b.count(t, `SELECT (percentile_cont(0.5) WITHIN GROUP (ORDER BY wait) < interval '3.5 seconds')::int
		FROM (SELECT started_at - lag(started_at) OVER (ORDER BY started_at) AS wait FROM hooklatch.all_attempts) AS w`))
}

// A successful probe does not end an operator's pause, and no probe is made during the pause.
func TestOperatorsPauseSurvivesTheBreaker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.addHTTP(t, "app", func(http.ResponseWriter, *http.Request) { calls.Add(1) },
		func(d *DestinationOptions) { d.Breaker.Probe = time.Millisecond })
	w := b.worker(t)
	require.NoError(t, w.registerDestinations(t.Context()))
	require.NoError(t, failure(b.outbox.Fleet().Trip(t.Context(), "app", "it was down", time.Millisecond)))
	require.NoError(t, b.outbox.Fleet().SetPaused(t.Context(), "app", true, ledger.Operator{Who: "ann", Via: "test", Reason: "we repair it"}))
	b.start(t, w)
	b.take(t, incoming{id: "evt_1", body: `{}`})
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'upkeep.probe' AND metadata ? 'snoozes'`)
	require.Zero(t, calls.Load(), "an operator's pause holds for probes too")

	// The breaker may close at any time; the pause stays.
	require.NoError(t, failure(b.outbox.Fleet().CloseBreaker(t.Context(), "app")))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.river_queue WHERE name = 'dst_app' AND paused_at IS NOT NULL`))
	require.NoError(t, b.outbox.Fleet().SetPaused(t.Context(), "app", false, ledger.Operator{Who: "ann", Via: "test"}))
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	require.EqualValues(t, 1, calls.Load())
}

// A program with other destinations, or only handlers, also takes jobs from the queue of the
// probes. It snoozes probes of destinations that it does not have, for a random time. After a fixed
// time, the same process could take such a probe first every time.
func TestProbeIsLeftToThoseWithTheDestination(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.worker(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {}, func(d *DestinationOptions) { d.Breaker.Probe = time.Millisecond })
	require.NoError(t, b.worker(t).registerDestinations(t.Context()))
	require.NoError(t, failure(b.outbox.Fleet().Trip(t.Context(), "app", "it was down", time.Millisecond)))
	events := b.start(t, other)
	require.NoError(t, insertProbe(t.Context(), other.client, "app"))

	var pauses []time.Duration
	for range 3 {
		job := next(t, events, kindProbe, river.EventKindJobSnoozed)
		pauses = append(pauses, job.ScheduledAt.Sub(*job.AttemptedAt).Round(time.Millisecond))
	}
	require.Less(t, slices.Min(pauses), 3*time.Second) // leaves time for the run itself on a busy machine
	require.Greater(t, slices.Max(pauses), slices.Min(pauses), "the pause was the same three times")
}

// The oldest due effect is ordered, and an earlier event of its source is not dispatched yet. So
// the probe takes another effect.
func TestProbePassesOverEffectsThatMustWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.addHTTP(t, "app", func(http.ResponseWriter, *http.Request) { calls.Add(1) }, func(d *DestinationOptions) { d.Breaker.Probe = time.Millisecond })
	b.opts.Routes = []route.Route{
		{Name: "ordered", From: []string{"*"}, Types: []string{"ordered"}, To: "app", OrderBy: "'one'"},
		{Name: "free", From: []string{"*"}, Types: []string{"free"}, To: "app"},
	}
	w := b.worker(t)
	require.NoError(t, w.registerDestinations(t.Context()))
	require.NoError(t, failure(b.outbox.Fleet().Trip(t.Context(), "app", "it was down", time.Millisecond)))
	b.accept(t, "evt_1", true) // no process has a handler for it
	b.take(t, incoming{id: "evt_2", eventType: "ordered", body: `{}`})
	b.start(t, w)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE route = 'ordered'`)
	b.take(t, incoming{id: "evt_3", eventType: "free", body: `{}`})
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'app' AND breaker_state = 'closed'`)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE route = 'free' AND state = 'done'`)
	require.EqualValues(t, 1, calls.Load(), "the ordered effect waits for evt_1")
}
