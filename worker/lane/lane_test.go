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
	return func(_ context.Context, _ string, perSecond float64, burst, n int, patience time.Duration) (time.Duration, bool, error) {
		mu.Lock()
		defer mu.Unlock()
		interval := time.Duration(float64(time.Second) / perSecond)
		if now := time.Now(); tat.Before(now) {
			tat = now
		}
		next := tat.Add(time.Duration(n) * interval)
		wait := max(0, time.Until(next)-time.Duration(max(burst, n))*interval)
		if wait > patience {
			return wait, false, nil
		}
		tat = next
		return wait, true, nil
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

// refused requires that no first attempt begins now.
func refused(t *testing.T, l *Lane, why string) {
	t.Helper()
	_, begins := l.BeginFirst(time.Now())
	require.False(t, begins, why)
}

// A first attempt holds its slot until its call has ended. Its settlement needs no slot, but
// the number of attempts that wait to be settled is limited.
func TestSettlementsNeedNoSlot(t *testing.T) {
	t.Parallel()
	l := New(Options{Concurrency: 2}, nil)
	var unsettled []*First
	for range unsettledPerSlot {
		for range 2 {
			first, begins := l.BeginFirst(time.Now())
			require.True(t, begins)
			unsettled = append(unsettled, first)
		}
		refused(t, l, "calls have all slots")
		for _, first := range unsettled {
			first.Called()
		}
		require.Zero(t, l.Taken())
	}
	for range 2 {
		first, begins := l.BeginFirst(time.Now())
		require.True(t, begins)
		unsettled = append(unsettled, first)
	}
	unsettled[len(unsettled)-1].Called()
	require.Equal(t, 1, l.Taken())
	refused(t, l, "too many are not settled")
	unsettled[0].End()
	_, begins := l.BeginFirst(time.Now())
	require.True(t, begins)
	for _, first := range unsettled[1:] {
		first.End()
	}
	require.Equal(t, 1, l.Taken())
}

// River starts as many jobs as there are slots, plus the jobs that are fetched ahead. It does not
// count first attempts that began with a dispatch. A job that finds no slot waits, and gets the
// next free slot.
func TestJobsAndFirstAttemptsShareALane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Concurrency: 1}, nil)
		first, begins := l.BeginFirst(time.Now())
		require.True(t, begins)
		refused(t, l, "no slot is free")
		entered := make(chan error, 1)
		go func() { entered <- l.Enter(t.Context()) }()
		synctest.Wait()
		require.Empty(t, entered)
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, l.Enter(t.Context()), &snooze, "a job without a place to wait is snoozed")
		first.End()
		require.NoError(t, <-entered)
		l.Leave(false)
		first, begins = l.BeginFirst(time.Now())
		require.True(t, begins)
		began := time.Now()
		require.ErrorAs(t, l.Enter(t.Context()), &snooze)
		require.Equal(t, NoSlotSnooze, time.Since(began), "the job found no slot in time")
		l.NoteWait(lateAfter)
		first.End()
		first, begins = l.BeginFirst(time.Now())
		require.True(t, begins)
		l.NoteWait(lateAfter + 1)
		first.End()
		refused(t, l, "others wait in the queue")
		time.Sleep(lateFor) //nolint:forbidigo // synctest's clock
		first, begins = l.BeginFirst(time.Now())
		require.True(t, begins)
		first.End()
		l.waiting.Add(1)
		refused(t, l, "a waiting job gets the next slot")
	})
}

// A job that was fetched ahead takes a free slot at once. Such a job returns at once when the
// process stops.
func TestJobsAreFetchedAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Options{Concurrency: 4, Hold: 25 * time.Second}
		require.Equal(t, 6, o.Jobs())
		require.Equal(t, 25*time.Second, o.LongestWait())
		l := New(o, nil)
		for range 4 {
			require.NoError(t, l.Enter(t.Context()))
		}
		entered := make(chan error, 2)
		for range 2 {
			go func() { entered <- l.Enter(t.Context()) }()
		}
		synctest.Wait()
		require.Empty(t, entered)
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, l.Enter(t.Context()), &snooze)
		require.Equal(t, NoSlotSnooze, snooze.Duration, "no more jobs are fetched than Jobs")
		began := time.Now()
		l.Leave(false)
		require.NoError(t, <-entered)
		require.Zero(t, time.Since(began))
		l.Close()
		require.ErrorAs(t, <-entered, &snooze)
		require.Zero(t, snooze.Duration, "the job is left to another process")
		l.Leave(false)
		require.ErrorAs(t, l.Enter(t.Context()), &snooze)
		require.Zero(t, snooze.Duration, "no job begins once the process stops")
	})
	require.Equal(t, time.Minute, Options{Concurrency: 1, Hold: time.Minute}.LongestWait(), "a first attempt may have the only slot")
	require.Equal(t, 20, Options{Concurrency: 20, Rate: 50}.Jobs(), "a job that waits for a rate token holds its slot")
}
