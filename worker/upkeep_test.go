package worker

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// Upkeep of a period runs again even if it has already run in that period, for example before the
// leader's clock was set back.
func TestUpkeepThatHasEndedPreventsNoUpkeep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(t)
	b.start(t, w)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND state = 'completed'`, kindPartitions)
	inserted, err := w.client.Insert(t.Context(), partitionsArgs{}, upkeepOpts(partitionsEvery))
	require.NoError(t, err)
	require.False(t, inserted.UniqueSkippedAsDuplicate)
}

// A run of upkeep that hangs, and ignores its context, takes one worker. Its process leaves later jobs of
// the kind to other processes, and after some tries completes them. Other upkeep continues.
func TestAHungRunOfUpkeepTakesOneWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	release := make(chan struct{})
	var runs atomic.Int32
	b.opts.Retention = func() retention.Settings {
		runs.Add(1)
		<-release
		return retention.Settings{}
	}
	w := b.worker(t)
	events := b.start(t, w)
	t.Cleanup(func() { close(release) }) // before the worker is stopped
	require.Eventually(t, func() bool { return runs.Load() > 0 }, 2*time.Minute, 10*time.Millisecond)
	for range upkeepWorkers {
		_, err := w.client.Insert(t.Context(), retentionArgs{}, &river.InsertOpts{Queue: riverjob.QueueUpkeep})
		require.NoError(t, err)
	}
	for range upkeepWorkers {
		next(t, events, kindRetention, river.EventKindJobSnoozed)
	}
	_, err := w.client.Insert(t.Context(), retentionArgs{}, &river.InsertOpts{Queue: riverjob.QueueUpkeep, Metadata: fmt.Appendf(nil, `{"snoozes": %d}`, leaveUpkeep)})
	require.NoError(t, err)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE kind = $1 AND state = 'completed'`, kindRetention)
	_, err = w.client.Insert(t.Context(), reconcileArgs{}, &river.InsertOpts{Queue: riverjob.QueueUpkeep})
	require.NoError(t, err)
	waitFor(t, b, `SELECT (count(*) = 0)::int FROM hooklatch.river_job WHERE kind = $1 AND state <> 'completed'`, kindReconcile)
	require.EqualValues(t, 1, runs.Load())
}
