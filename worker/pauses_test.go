package worker

import (
	"net/http"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/riverjob"
)

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
	// Upkeep has begun, and the pauses have no part in it.
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

// Postgres keeps no notification for who is not listening at the moment.
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
		case <-time.After(5 * time.Second):
			t.Fatalf("%s is not heard", kind)
		}
	}

	// Paused behind its back, and it goes on fetching.
	exec(`UPDATE hooklatch.destinations SET operator_paused = true WHERE name = 'app'`)
	exec(`UPDATE hooklatch.river_queue SET paused_at = now() - interval '1 minute' WHERE name = 'dst_app'`)
	exec(`INSERT INTO hooklatch.river_job (kind, queue, state, attempted_at, attempt, max_attempts, args)
		VALUES ('effect', 'dst_app', 'running', now(), 1, 25, '{}')`)
	hears(river.EventKindQueuePaused)
	exec(`DELETE FROM hooklatch.river_job WHERE queue = 'dst_app'`)

	// Resumed behind its back, while somebody waits.
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE queue = 'dst_app' AND state = 'available'`)
	exec(`UPDATE hooklatch.destinations SET operator_paused = false WHERE name = 'app'`)
	exec(`UPDATE hooklatch.river_queue SET paused_at = NULL WHERE name = 'dst_app'`)
	exec(`UPDATE hooklatch.river_job SET scheduled_at = now() - interval '1 minute' WHERE queue = 'dst_app'`)
	hears(river.EventKindQueueResumed)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
}
