package worker

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Other processes take over the jobs of a killed process long before River would rescue them.
// Jobs of live processes and jobs of handlers are not taken over.
func TestJobsOfALostProcessAreGivenBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.to(t, func(http.ResponseWriter, *http.Request) {})
	w := b.worker(t)
	b.start(t, w)
	_, err := b.pool.Exec(t.Context(), `
		INSERT INTO hooklatch.workers (id, started_at, seen_at, config_hash, destinations, queues)
		SELECT id, now(), now() - make_interval(secs => silent), '', '{}', '{}'
		FROM (VALUES ('lost', 21), ('slow', 10)) AS w (id, silent)`) // the loop takes a few seconds on a busy machine
	require.NoError(t, err)
	for _, c := range []struct {
		what, process, kind, queue string
		since                      int // seconds since the job was fetched
		freed                      int
	}{
		{"an event", "lost", "dispatch", "dispatch", 21, 1},
		{"an effect", "lost", "effect", "dst_app", 21, 1},
		{"an effect of a process that withdrew", "unknown", "effect", "dst_app", 21, 1},
		{"an effect of a process that has been silent for a while", "slow", "effect", "dst_app", 21, 0},
		{"an effect of this process", w.opts.ID, "effect", "dst_app", 3600, 0},
		{"an effect of a process that has just begun", "unknown", "effect", "dst_app", 10, 0},
		{"an event of a handler", "lost", "dispatch", "handlers_stripe", 21, 0},
		{"upkeep", "lost", kindReconcile, "upkeep", 21, 0},
	} {
		// No process serves the queue dst_elsewhere, so only the statement under test changes
		// these jobs.
		var job int64
		require.NoError(t, b.pool.QueryRow(t.Context(), `
			INSERT INTO hooklatch.river_job (state, kind, queue, args, max_attempts, attempt, attempted_by, attempted_at)
			VALUES ('running', $1, CASE WHEN $2 = 'dst_app' THEN 'dst_elsewhere' ELSE $2 END, '{"destination": "app", "scope": "none", "key": "none", "generation": 1}', 25, 1,
				ARRAY['before', $3], now() - make_interval(secs => $4))
			RETURNING id`, c.kind, c.queue, c.process, c.since).Scan(&job))
		_, err := w.fleet.FreeJobs(t.Context(), rescueError) // the worker itself may already have freed the job
		require.NoError(t, err)
		require.Equal(t, c.freed, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE id = $1 AND NOT (state = 'running' AND attempted_by = ARRAY['before', $2])`, job, c.process), c.what)
	}

	// End to end: the process is lost after it has fetched an event's job.
	stop(t, w)
	b.accept(t, "evt_1", false)
	_, err = b.pool.Exec(t.Context(), `
		UPDATE hooklatch.river_job
		SET state = 'running', attempt = 1, attempted_by = ARRAY['lost'], attempted_at = now() - interval '21 seconds'
		WHERE kind = 'dispatch' AND state = 'available'`)
	require.NoError(t, err)
	b.start(t, b.worker(t))
	waitFor(t, b, effectDone)
	require.Eventually(t, func() bool { return b.counted(t, "hooklatch.rescued", map[string]any{"kind": "dispatch"}) == 2 },
		2*time.Minute, time.Millisecond, "including the job above")
}
