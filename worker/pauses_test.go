package worker

import (
	"net/http"
	"testing"

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
