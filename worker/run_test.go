package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// Upkeep continues no matter how many bulk runs there are.
func TestRunsLeaveTheUpkeepItsWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.Sources = []string{"*"} // without a route, the worker skips all events
	const many = upkeepWorkers + 5
	for i := range 3 {
		b.accept(t, fmt.Sprintf("evt_%d", i), false)
	}
	w := b.worker(t)
	b.start(t, w)
	skipped := func() (n int) {
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'skipped'`).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return skipped() == 3 }, 2*time.Minute, 10*time.Millisecond)
	by := ledger.Operator{Who: "ann", Via: "cli"}
	order := runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{State: inbox.Skipped}, PerSecond: 0.001}
	for range many {
		_, err := w.runs.Begin(t.Context(), order, by)
		require.NoError(t, err)
	}
	atWork := func() (n int) {
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.replay_runs WHERE leased_until > now()`).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return atWork() == runsAtOnce }, 2*time.Minute, 10*time.Millisecond)

	_, err := w.client.Insert(t.Context(), partitionsArgs{}, &river.InsertOpts{Queue: riverjob.QueueUpkeep})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var done int
		require.LessOrEqual(t, atWork(), runsAtOnce)
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND state = 'completed' AND queue = 'upkeep'`, kindPartitions).Scan(&done))
		return done >= 2 // the job that the worker's start inserts, and the job above
	}, 2*time.Minute, 20*time.Millisecond, "below what a run has at a time")
	for id := range int64(many) {
		require.NoError(t, w.runs.Stop(t.Context(), id+1, by))
	}
}
