package shared

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOneAnswerIsForAllWhoAsk(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	asked := 0
	var fails error
	s := &Answer[int]{Now: func() time.Time { return now }, Ask: func(context.Context) (int, error) {
		asked++
		return asked, fails
	}}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			n, err := s.Get(t.Context())
			if err != nil || n != 1 {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, asked)

	now = now.Add(sharedFor)
	n, err := s.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)

	now = now.Add(sharedFor)
	fails = errors.New("away")
	for range 2 {
		_, err = s.Get(t.Context())
		require.Error(t, err, "an error is not shared as an answer")
	}
	require.Equal(t, 4, asked)
	now = now.Add(-time.Hour) // the clock was set back
	fails = nil
	n, err = s.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, n)
}

// Glance never waits, and never returns a stale answer.
func TestAGlanceNeverWaits(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	asked, answers := make(chan struct{}), make(chan int)
	s := &Answer[int]{Now: func() time.Time { return time.Unix(now.Load(), 0) }, Ask: func(context.Context) (int, error) {
		asked <- struct{}{}
		n, some := <-answers
		if !some {
			return 0, errors.New("away")
		}
		return n, nil
	}}
	_, known := s.Glance(10*time.Second, time.Minute)
	require.False(t, known)
	<-asked
	_, known = s.Glance(10*time.Second, time.Minute)
	require.False(t, known, "Ask runs once at a time")
	answers <- 7
	require.Eventually(t, func() bool {
		n, known := s.Glance(10*time.Second, time.Minute)
		return known && n == 7
	}, time.Minute, time.Millisecond)

	require.Eventually(t, func() bool { return !s.asking.Load() }, time.Minute, time.Millisecond)
	now.Add(30)
	n, known := s.Glance(10*time.Second, time.Minute)
	require.True(t, known)
	require.Equal(t, 7, n, "the old answer is returned while Ask runs")
	<-asked
	close(answers)
	require.Eventually(t, func() bool { return s.newest.Load() == nil }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return !s.asking.Load() }, time.Minute, time.Millisecond)
	s.newest.Store(&answered[int]{7, time.Unix(now.Load()-60, 0)})
	_, known = s.Glance(time.Hour, time.Minute)
	require.False(t, known, "the answer is stale")
}
