package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
)

// localRate is TakeTokens by the clock of the test.
func localRate() takeTokens {
	var mu sync.Mutex
	var tat time.Time
	return func(_ context.Context, _ string, perSecond float64, burst, n int) (time.Duration, error) {
		mu.Lock()
		defer mu.Unlock()
		interval := time.Duration(float64(time.Second) / perSecond)
		if now := time.Now(); tat.Before(now) {
			tat = now
		}
		tat = tat.Add(time.Duration(n) * interval)
		return max(0, time.Until(tat)-time.Duration(max(burst, n))*interval), nil
	}
}

func TestLane(t *testing.T) {
	t.Parallel()
	t.Run("SnoozesWithoutSlot", func(t *testing.T) {
		t.Parallel()
		l := newLane(DestinationOptions{Concurrency: 1}, nil)
		require.NoError(t, l.enter(t.Context()))
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, l.enter(t.Context()), &snooze)
		l.leave(false)
		require.NoError(t, l.enter(t.Context()))
	})
	t.Run("KeepsTheRate", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLane(DestinationOptions{Concurrency: 100, Rate: 2, Burst: 1}, localRate())
			start := time.Now()
			for range 5 {
				require.NoError(t, l.enter(t.Context()))
				l.leave(false)
			}
			require.Equal(t, 2*time.Second, time.Since(start))
		})
	})
	t.Run("KeepsTheRateTogether", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			rate := localRate()
			d := DestinationOptions{Concurrency: 20, Rate: 50, Burst: 1}
			start := time.Now()
			var runs sync.WaitGroup
			for range 3 { // processes
				l := newLane(d, rate)
				for range 20 {
					runs.Go(func() {
						for range 5 {
							if err := l.enter(t.Context()); err != nil {
								t.Error(err)
								return
							}
							l.leave(false)
						}
					})
				}
			}
			runs.Wait()
			require.InDelta(t, 299.0/50, time.Since(start).Seconds(), 0.3)
		})
	})
	t.Run("GivesTheTokenBackWhenCancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLane(DestinationOptions{Concurrency: 10, Rate: 1, Burst: 1}, localRate())
			require.NoError(t, l.enter(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			require.ErrorIs(t, l.enter(ctx), context.Canceled)
			require.Len(t, l.slots, 1, "only the first run holds a slot")
			start := time.Now()
			require.NoError(t, l.enter(t.Context()))
			require.Less(t, time.Since(start), time.Second)
		})
	})
	t.Run("GivesTheTokenBackUnused", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLane(DestinationOptions{Concurrency: 10, Rate: 1, Burst: 1}, localRate())
			start := time.Now()
			for range 10 {
				require.NoError(t, l.enter(t.Context()))
				l.leave(true)
			}
			require.Zero(t, time.Since(start))
		})
	})
	t.Run("SnoozesUntilAFarToken", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLane(DestinationOptions{Concurrency: 10, Rate: 0.01, Burst: 1}, localRate())
			require.Equal(t, 1, cap(l.slots))
			require.NoError(t, l.enter(t.Context()))
			l.leave(false)
			for range 3 { // all wait for the same token
				var snooze *river.JobSnoozeError
				require.ErrorAs(t, l.enter(t.Context()), &snooze)
				require.InDelta(t, 100*time.Second, snooze.Duration, float64(time.Second))
			}
			<-time.After(100 * time.Second)
			require.NoError(t, l.enter(t.Context()))
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
	require.LessOrEqual(t, len(long), riverjob.MaxQueueName)
	for _, name := range []string{"app", "My App", "-", "ü", "a__b", "x-", long} {
		require.True(t, riverjob.IsQueueName(ownQueue(name)), name)
	}

	few := make([]DestinationOptions, maxOwnQueues)
	for i := range few {
		few[i].Name = fmt.Sprint("d", i)
	}
	many := slices.Concat(few, []DestinationOptions{{Name: "more"}, {Name: "own", Queue: "own"}})
	assignQueues(few)
	require.Equal(t, "dst_d7", few[7].Queue)
	assignQueues(many)
	queues := map[string]bool{}
	for _, d := range many {
		require.True(t, riverjob.IsQueueName(d.Queue), d.Queue)
		queues[d.Queue] = true
	}
	require.LessOrEqual(t, len(queues), maxOwnQueues+1)
	require.Equal(t, "own", many[len(many)-1].Queue)
}
