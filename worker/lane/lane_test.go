package lane

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
)

// localRate returns a Take that uses the test's clock.
func localRate() Take {
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
		l := New(Options{Concurrency: 1}, nil)
		require.NoError(t, l.Enter(t.Context()))
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, l.Enter(t.Context()), &snooze)
		l.Leave(false)
		require.NoError(t, l.Enter(t.Context()))
	})
	t.Run("KeepsTheRate", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := New(Options{Concurrency: 100, Rate: 2, Burst: 1}, localRate())
			start := time.Now()
			for range 5 {
				require.NoError(t, l.Enter(t.Context()))
				l.Leave(false)
			}
			require.Equal(t, 2*time.Second, time.Since(start))
		})
	})
	t.Run("KeepsTheRateTogether", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			rate := localRate()
			d := Options{Concurrency: 20, Rate: 50, Burst: 1}
			start := time.Now()
			var runs sync.WaitGroup
			for range 3 { // processes
				l := New(d, rate)
				for range 20 {
					runs.Go(func() {
						for range 5 {
							if err := l.Enter(t.Context()); err != nil {
								t.Error(err)
								return
							}
							l.Leave(false)
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
			l := New(Options{Concurrency: 10, Rate: 1, Burst: 1}, localRate())
			require.NoError(t, l.Enter(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			require.ErrorIs(t, l.Enter(ctx), context.Canceled)
			require.Len(t, l.slots, 1, "only the first run holds a slot")
			start := time.Now()
			require.NoError(t, l.Enter(t.Context()))
			require.Less(t, time.Since(start), time.Second)
		})
	})
	t.Run("GivesTheTokenBackUnused", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := New(Options{Concurrency: 10, Rate: 1, Burst: 1}, localRate())
			start := time.Now()
			for range 10 {
				require.NoError(t, l.Enter(t.Context()))
				l.Leave(true)
			}
			require.Zero(t, time.Since(start))
		})
	})
	t.Run("SnoozesUntilAFarToken", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := New(Options{Concurrency: 10, Rate: 0.01, Burst: 1}, localRate())
			require.Equal(t, 1, cap(l.slots))
			require.NoError(t, l.Enter(t.Context()))
			l.Leave(false)
			for range 3 { // all wait for the same token
				var snooze *river.JobSnoozeError
				require.ErrorAs(t, l.Enter(t.Context()), &snooze)
				require.InDelta(t, 100*time.Second, snooze.Duration, float64(time.Second))
			}
			<-time.After(100 * time.Second)
			require.NoError(t, l.Enter(t.Context()))
		})
	})
}

// River starts as many runs as there are slots and does not know of first attempts that began with
// a dispatch. A job that finds no slot waits, and gets the next free slot.
func TestJobsAndFirstAttemptsShareALane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Concurrency: 2}, nil)
		require.True(t, l.BeginFirst(time.Now()))
		require.NoError(t, l.Enter(t.Context()))
		require.False(t, l.BeginFirst(time.Now()), "no slot is free")
		entered := make(chan error, 1)
		go func() { entered <- l.Enter(t.Context()) }()
		synctest.Wait()
		require.Empty(t, entered)
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, l.Enter(t.Context()), &snooze, "the job in excess is not River's mistake")
		l.EndFirst()
		require.NoError(t, <-entered)
		l.Leave(false)
		require.True(t, l.BeginFirst(time.Now()))
		began := time.Now()
		require.ErrorAs(t, l.Enter(t.Context()), &snooze)
		require.Equal(t, NoSlotSnooze, time.Since(began), "it waited in vain")
		l.NoteWait(lateAfter)
		l.EndFirst()
		require.True(t, l.BeginFirst(time.Now()))
		l.NoteWait(lateAfter + 1)
		l.EndFirst()
		require.False(t, l.BeginFirst(time.Now()), "others wait in the queue")
		time.Sleep(lateFor) //nolint:forbidigo // synctest's clock
		require.True(t, l.BeginFirst(time.Now()))
		l.EndFirst()
		l.waiting.Add(1)
		require.False(t, l.BeginFirst(time.Now()), "the next slot is that of the job that waits")
	})
}
