package worker

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// keeping returns a Worker that keeps completed jobs. If births is true, the Worker makes first
// attempts without jobs.
func (b *bundle) keeping(t *testing.T, keep time.Duration, births bool) *Worker {
	t.Helper()
	b.opts.KeepJobs = keep
	w, err := New(b.opts)
	require.NoError(t, err)
	w.noStagger, w.births.off = true, !births
	return w
}

const (
	jobsCompleted = `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND state = 'completed' AND finalized_at IS NOT NULL`
	jobsLeft      = `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND state <> 'completed'`
)

// Every job that did its work is kept as completed, for River UI.
func TestJobsThatDidTheirWorkAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		births, handlers bool
		fails            int32 // number of calls that fail, from the first call
		effects          int
	}{
		"first attempts by jobs":             {effects: 1},
		"first attempts without jobs":        {births: true, effects: 1},
		"later attempts":                     {fails: 1, effects: 1},
		"later attempts of a fallback job":   {births: true, fails: 1, effects: 1},
		"a handler, and its effects by jobs": {handlers: true, births: true, effects: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var calls atomic.Int32
			b.to(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) <= c.fails {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
			w := b.keeping(t, 24*time.Hour, c.births)
			if c.handlers {
				w.Handle(testSource, "*", func(context.Context, pgx.Tx, inbox.Event) error { return nil })
			}
			b.start(t, w)
			b.accept(t, "evt_1", c.handlers)
			waitFor(t, b, jobsCompleted, "dispatch")
			if c.effects > 0 {
				waitFor(t, b, effectDone)
				waitFor(t, b, jobsCompleted, "effect")
			}
			stop(t, w)
			require.Zero(t, b.count(t, jobsLeft, "dispatch"))
			require.Zero(t, b.count(t, jobsLeft, "effect"))
			if c.effects > 0 {
				require.Equal(t, c.effects, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND metadata -> 'output' ->> 'outcome' = 'done'
					AND metadata -> 'output' ->> 'http_status' = '200' AND 'dst-app' = ANY (tags) AND attempt = $1 AND COALESCE(cardinality(errors), 0) = $2`, c.fails+1, c.fails))
			}
		})
	}
}

// A completed job does not run again. Reconciliation creates a new job if the work is not done. A
// replay also creates a new job.
func TestAKeptJobDoesNoWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.to(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	w := b.keeping(t, 24*time.Hour, true)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, effectDone)
	waitFor(t, b, jobsCompleted, "dispatch")
	stop(t, w)

	b.accept(t, "evt_2", false)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET state = 'completed', finalized_at = now() WHERE state = 'available'`)
	require.NoError(t, err)
	b.age(t, "evt_2", 10*time.Minute)
	b.start(t, b.keeping(t, 24*time.Hour, true)) // the worker looks for lost work at startup
	waitFor(t, b, `SELECT count(*) FROM hooklatch.processed_events WHERE event_id = 'evt_2' AND outcome = 'dispatched'`)
	waitFor(t, b, `SELECT count(*) - 1 FROM hooklatch.effects WHERE state = 'done'`)

	ref := identity.EventRef{Source: testSource, EventID: "evt_1"}
	_, err = b.outbox.Inbox().Replay(t.Context(), ref, ledger.Operator{Who: "ann", Via: "cli"}, inbox.ReplayOptions{NewKeys: true})
	require.NoError(t, err)
	waitFor(t, b, `SELECT count(*) - 2 FROM hooklatch.effects WHERE state = 'done'`)
	require.EqualValues(t, 3, calls.Load())
}

// Kept jobs are deleted when they expire.
func TestKeptJobsExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.keeping(t, 24*time.Hour, true)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	waitFor(t, b, effectDone)
	waitFor(t, b, jobsCompleted, "dispatch")
	stop(t, w)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET finalized_at = finalized_at - interval '3 hours'`)
	require.NoError(t, err)

	w = b.keeping(t, 24*time.Hour, true)
	b.start(t, w)
	b.accept(t, "evt_2", false)
	waitFor(t, b, `SELECT count(*) - 1 FROM hooklatch.effects WHERE state = 'done'`)
	stop(t, w)
	require.Equal(t, 2, b.count(t, jobsCompleted, "effect"), "no job has expired")

	w = b.keeping(t, time.Hour, true)
	b.start(t, w)
	waitFor(t, b, `SELECT 1 - count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND finalized_at < now() - interval '2 hours'`)
	require.Equal(t, 1, b.count(t, jobsCompleted, "effect"))
}
