package ondemand

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// source returns the square of a key, and no value for 0.
type source struct {
	gate    chan struct{} // nil: always open
	mu      sync.Mutex
	batches [][]int
	err     error
}

func (s *source) read(_ context.Context, keys []int) (map[int]int, error) {
	s.mu.Lock()
	s.batches = append(s.batches, keys)
	s.mu.Unlock()
	if s.gate != nil {
		<-s.gate
	}
	values := make(map[int]int)
	for _, key := range keys {
		if key != 0 {
			values[key] = key * key
		}
	}
	return values, s.err
}

func TestWhoAsksAtTheSameTimeSharesAStatement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{gate: make(chan struct{})}
		r := NewReader(s.read)
		var all sync.WaitGroup
		ask := func(key int) {
			all.Go(func() {
				value, found, err := r.Get(context.Background(), key)
				require.NoError(t, err)
				require.Equal(t, key != 0, found)
				require.Equal(t, key*key, value)
			})
			synctest.Wait()
		}
		ask(1)
		ask(2)
		for key := range 70 { // 1 and 2 are requested again
			ask(key)
		}
		ask(69)
		require.Equal(t, [][]int{{1}, {2}}, s.batches, "two statements run at the same time")
		close(s.gate)
		all.Wait()
		require.Len(t, s.batches, 5)
		later := s.batches[2:] // two statements at once: either may begin first
		slices.SortFunc(later, func(a, b []int) int { return len(b) - len(a) })
		require.Len(t, later[0], 64)
		require.Len(t, later[1], 6)
		require.Equal(t, []int{69}, later[2], "no batch has a key twice")
		synctest.Wait()
		require.Zero(t, r.reading)
	})
}

func TestACallerThatGoesLeavesTheOthers(t *testing.T) {
	t.Parallel()
	s := &source{gate: make(chan struct{})}
	r := NewReader(s.read)
	gone, leave := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	leave(why)
	_, _, err := r.Get(gone, 1)
	require.ErrorIs(t, err, why)
	close(s.gate)
	value, found, err := r.Get(t.Context(), 1)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, 1, value)
}

func TestAnErrorIsEverybodys(t *testing.T) {
	t.Parallel()
	s := &source{err: errors.New("no")}
	_, _, err := NewReader(s.read).Get(t.Context(), 1)
	require.ErrorIs(t, err, s.err)
}
