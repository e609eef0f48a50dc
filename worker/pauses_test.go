package worker

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// If a job in a shared queue cannot start, it is set aside once, in a queue from which no process
// fetches. Its destination may be paused, have no free slot, or have no rate token. Other
// destinations continue, and each destination resumes when it can.
func TestWhatWaitsInASharedQueueIsSetAside(t *testing.T) {
	t.Parallel()
	const events = 60
	b := setup(t)
	release := make(chan struct{})
	shared := func(change func(*DestinationOptions)) func(*DestinationOptions) {
		return func(d *DestinationOptions) {
			d.Queue, d.Breaker.Off = "shared", true
			change(d)
		}
	}
	answer := func(http.ResponseWriter, *http.Request) {}
	b.addHTTP(t, "paused", answer, shared(func(*DestinationOptions) {}))
	b.addHTTP(t, "slow", func(http.ResponseWriter, *http.Request) { <-release }, shared(func(d *DestinationOptions) { d.Concurrency = 2 }))
	b.addHTTP(t, "rated", answer, shared(func(d *DestinationOptions) { d.Rate, d.Burst = 0.01, 1 }))
	b.addHTTP(t, "quick", answer, shared(func(*DestinationOptions) {}))
	w := b.worker(t)
	require.NoError(t, w.registerDestinations(t.Context()))
	pause := func(paused bool) {
		t.Helper()
		require.NoError(t, b.outbox.Fleet().SetPaused(t.Context(), "paused", paused, ledger.Operator{Who: "ann", Via: "test", Reason: "we repair it"}))
	}
	pause(true)
	b.start(t, w)
	for i := range events {
		b.take(t, incoming{id: fmt.Sprint("evt_", i), body: `{}`})
	}
	const aside = `SELECT (count(*) = $2)::int FROM hooklatch.river_job WHERE state = 'available' AND queue = $1`
	waitFor(t, b, `SELECT (count(*) = $1)::int FROM hooklatch.effects WHERE destination = 'quick' AND state = 'done'`, events)
	waitFor(t, b, aside, riverjob.AsideQueue("paused"), events)
	waitFor(t, b, aside, riverjob.AsideQueue("slow"), events-3) // two are attempted, one waits for a slot
	waitFor(t, b, aside, riverjob.AsideQueue("rated"), events-1)
	require.Equal(t, 1, b.count(t, `SELECT max((metadata ->> 'snoozes')::int) FROM hooklatch.river_job WHERE queue = $1`, riverjob.AsideQueue("paused")))

	resumed := time.Now()
	pause(false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'paused' AND state = 'done' LIMIT 1`)
	t.Logf("%s from the resumption to the first effect", time.Since(resumed))
	close(release)
	waitFor(t, b, `SELECT (count(*) = $1)::int FROM hooklatch.effects WHERE destination IN ('paused', 'slow') AND state = 'done'`, 2*events)
	require.LessOrEqual(t, b.count(t, `SELECT max((metadata ->> 'snoozes')::int) FROM hooklatch.river_job WHERE args ->> 'destination' = 'paused'`), 3,
		"no more are recalled than have a slot")
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE queue = $1`, riverjob.AsideQueue("paused")))
}

func TestPausesAreKeptWithoutAJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, failing(0))
	first := b.worker(t)
	b.start(t, first) // registers the destination
	stop(t, first)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.destinations SET operator_paused = true WHERE name = 'app'`)
	require.NoError(t, err)

	b.start(t, b.worker(t))
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_queue WHERE name = 'dst_app' AND paused_at IS NOT NULL`)
	// Upkeep has started, and has no job for the pauses.
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1`, kindReconcile)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1`, kindPauses))
}

func TestARetriedJobOfAFailedEffectSaysHowToRetryTheEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) })
	w := b.worker(t)
	events := b.start(t, w)
	b.accept(t, "evt_1", false)
	job := next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)

	_, err := w.client.JobRetry(t.Context(), job.ID)
	require.NoError(t, err)
	job = next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)
	require.Equal(t, "already failed", outputOf(t, job).Outcome)
	require.Contains(t, job.Errors[len(job.Errors)-1].Error, "hooklatch effects retry "+b.effects(t)[0].IdempotencyKey)
}

// Postgres keeps no notification for a process that is not listening. syncPauses therefore notifies
// the processes again.
func TestAProcessThatWasNotListeningIsToldOfPausesAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, failing(0))
	w := b.worker(t)
	events := b.start(t, w)
	heard, unsubscribe := w.client.Subscribe(river.EventKindQueuePaused, river.EventKindQueueResumed)
	t.Cleanup(unsubscribe)
	exec := func(sql string) {
		_, err := b.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	hears := func(kind river.EventKind) {
		t.Helper()
		require.NoError(t, w.syncPauses(t.Context(), w.client))
		select {
		case event := <-heard:
			require.Equal(t, kind, event.Kind)
			require.Equal(t, "dst_app", event.Queue.Name)
		case <-time.After(2 * time.Minute):
			t.Fatalf("no notification of %s arrived", kind)
		}
	}

	// The queue was paused without a notification, so the process continues to fetch jobs.
	exec(`UPDATE hooklatch.destinations SET operator_paused = true WHERE name = 'app'`)
	exec(`UPDATE hooklatch.river_queue SET paused_at = now() - interval '1 minute' WHERE name = 'dst_app'`)
	exec(`INSERT INTO hooklatch.river_job (kind, queue, state, attempted_at, attempt, max_attempts, args)
		VALUES ('effect', 'dst_app', 'running', now(), 1, 25, '{}')`)
	hears(river.EventKindQueuePaused)
	exec(`DELETE FROM hooklatch.river_job WHERE queue = 'dst_app'`)

	// The queue was resumed without a notification, while an effect waits.
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE queue = 'dst_app' AND state = 'available'`)
	exec(`UPDATE hooklatch.destinations SET operator_paused = false WHERE name = 'app'`)
	exec(`UPDATE hooklatch.river_queue SET paused_at = NULL WHERE name = 'dst_app'`)
	exec(`UPDATE hooklatch.river_job SET scheduled_at = now() - interval '1 minute' WHERE queue = 'dst_app'`)
	hears(river.EventKindQueueResumed)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
}

// A database that does not respond to a COMMIT does not delay a stop: the other processes, or the
// next process, refresh the pauses. HOOKLATCH_LONG=1, on a quiet machine, limits the stop further.
func TestAStopDoesNotWaitForPausesOfAHungDatabase(t *testing.T) {
	t.Parallel()
	sound := setup(t)
	pool, f, err := fault.NewPool(t.Context(), pgtest.URL(t, sound.pool))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := onPool(t, pool)
	b.to(t, failing(0))
	w := b.worker(t)
	b.start(t, w)
	w.pauses.stop()
	b.accept(t, "evt_1", true) // an event for the search for work without a job
	_, err = sound.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET received_at = received_at - interval '1 hour'`)
	require.NoError(t, err)

	f.Arm(fault.Hang, 1000)
	k := w.keepPauses(w.client)
	for range 2 { // one transaction of the pauses, and one of the search
		<-f.Fired()
	}
	began := time.Now()
	k.stop()
	took := time.Since(began)
	t.Logf("stopped after %s", took.Round(time.Millisecond))
	limit := 9 * time.Second // each transaction is tried for 10 s
	if os.Getenv("HOOKLATCH_LONG") != "" {
		limit = 5 * time.Second
	}
	require.Less(t, took, limit)
	f.Arm(fault.Hang, 0)
}
