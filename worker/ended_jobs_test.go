package worker

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// ending returns a Worker that makes every attempt by a job, and deletes jobs whose first run
// completed the work.
func (b *bundle) ending(t *testing.T) *Worker {
	t.Helper()
	w := b.worker(t)
	w.keepsJobs = false
	return w
}

const (
	dispatchJobs = `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch'`
	effectJobs   = `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect'`
)

func TestJobsThatDidAtOnceWhatTheyWereForAreGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.ending(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, effectDone)
	require.Zero(t, b.count(t, dispatchJobs), "the job was deleted with the fence")
	require.Zero(t, b.count(t, effectJobs), "the job was deleted with the settlement")
	stop(t, w) // River still reports on runs whose jobs are deleted
	require.Zero(t, b.count(t, dispatchJobs))
	require.Zero(t, b.count(t, effectJobs))
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE attempt = 1 AND applied = 'yes' AND job_id > 0`))
	for _, line := range b.lines(t, "") {
		require.NotEqual(t, "ERROR", line["level"], line)
	}
}

func TestTheJobOfAnEffectThatWasNotDoneAtOnceIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.to(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	events := b.start(t, b.ending(t))
	b.accept(t, "evt_1", false)
	next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	job := next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	require.Equal(t, "done", outputOf(t, job).Outcome)
	require.Len(t, job.Errors, 1)
}

// A job with a failed run is kept, so that operators see the run's error in River UI.
func TestTheJobOfADispatchThatFailedOnceIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	b.accept(t, "evt_1", false)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET attempt = 1, errors = ARRAY['{"error": "no"}'::jsonb] WHERE kind = 'dispatch'`)
	require.NoError(t, err)
	events := b.start(t, b.ending(t))
	job := next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted)
	require.Equal(t, "dispatched", outputOf(t, job).Outcome)
}

// A probe's job does not belong to the effect that it attempts.
func TestAProbeKeepsItsOwnJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.ending(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, effectDone)
	made := call{effect: &ledger.Effect{}}
	made.effect.Attempt = 1
	require.False(t, made.settlement(w.lanes["app"], task{jobID: 1, probe: true}, false).EndsJob)
	require.True(t, made.settlement(w.lanes["app"], task{jobID: 1, endsJob: true}, false).EndsJob)
	made.effect.Attempt = 2
	require.False(t, made.settlement(w.lanes["app"], task{jobID: 1, endsJob: true}, false).EndsJob)
}

// A settlement does not wait for a locked job: River completes the job.
func TestAJobThatSomebodyHasLockedIsLeftToRiver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	release := make(chan struct{})
	called := make(chan struct{})
	b.to(t, func(http.ResponseWriter, *http.Request) {
		close(called)
		<-release
	})
	events := b.start(t, b.ending(t))
	b.accept(t, "evt_1", false)
	<-called
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM hooklatch.river_job WHERE kind = 'effect' FOR UPDATE`)
	require.NoError(t, err)
	close(release)
	waitFor(t, b, effectDone)
	require.NoError(t, tx.Rollback(t.Context()))
	job := next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	require.WithinDuration(t, time.Now(), *job.FinalizedAt, time.Minute)
}
