package worker

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
)

func TestLane(t *testing.T) {
	t.Parallel()
	t.Run("SnoozesWithoutSlot", func(t *testing.T) {
		t.Parallel()
		l := newLane(Destination{Concurrency: 1})
		require.NoError(t, l.enter(t.Context()))
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, l.enter(t.Context()), &snooze)
		l.leave()
		require.NoError(t, l.enter(t.Context()))
	})
	t.Run("KeepsTheRate", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLane(Destination{Concurrency: 100, Rate: 2, Burst: 1})
			start := time.Now()
			for range 5 {
				require.NoError(t, l.enter(t.Context()))
				l.leave()
			}
			require.Equal(t, 2*time.Second, time.Since(start))
		})
	})
	t.Run("GivesTheTokenBackWhenCancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLane(Destination{Concurrency: 10, Rate: 1, Burst: 1})
			require.NoError(t, l.enter(t.Context()))
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.ErrorIs(t, l.enter(ctx), context.DeadlineExceeded)
			require.Len(t, l.slots, 1, "only the first run holds a slot")
			start := time.Now()
			require.NoError(t, l.enter(t.Context()))
			require.Less(t, time.Since(start), time.Second)
		})
	})
	t.Run("WaitsAtMostAMinute", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLane(Destination{Concurrency: 10, Rate: 0.01, Burst: 1})
			require.Equal(t, 1, cap(l.slots))
			require.NoError(t, l.enter(t.Context()))
			l.leave()
			var snooze *river.JobSnoozeError
			require.ErrorAs(t, l.enter(t.Context()), &snooze)
			require.InDelta(t, 100*time.Second, snooze.Duration, float64(time.Second))
		})
	})
}

func TestQueueNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "dst_app", ownQueue("app"))
	require.Equal(t, "dst_my_app_2", ownQueue("my_app_2"))
	require.Regexp(t, `^dst_my_app_[0-9a-f]{8}$`, ownQueue("My App"))
	require.NotEqual(t, ownQueue("My App"), ownQueue("my-app"))
	long := ownQueue(fmt.Sprintf("%0100d", 7))
	require.LessOrEqual(t, len(long), maxQueueName)
	for _, name := range []string{"app", "My App", "-", "ü", "a__b", "x-", long} {
		require.Regexp(t, queueName, ownQueue(name))
	}

	few := make([]Destination, maxOwnQueues)
	for i := range few {
		few[i].Name = fmt.Sprint("d", i)
	}
	many := slices.Concat(few, []Destination{{Name: "more"}, {Name: "own", Queue: "own"}})
	assignQueues(few)
	require.Equal(t, "dst_d7", few[7].Queue)
	assignQueues(many)
	queues := map[string]bool{}
	for _, d := range many {
		require.Regexp(t, queueName, d.Queue)
		queues[d.Queue] = true
	}
	require.LessOrEqual(t, len(queues), maxOwnQueues+1)
	require.Equal(t, "own", many[len(many)-1].Queue)
}
