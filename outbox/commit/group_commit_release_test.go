package commit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A member that got ErrBusy is released immediately, not only when a committer reaches it.
func TestGroupCommitReleasesMembersThatGaveUp(t *testing.T) {
	t.Parallel()
	g := newGate(t, func(opts *GroupOptions[int, int]) { opts.QueueCap, opts.Timeout = 1, 5*time.Second })
	var mu sync.Mutex
	released := make(map[int]int)
	g.opts.Release = func(n int, _ error) {
		mu.Lock()
		defer mu.Unlock()
		released[n]++
	}
	count := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return released[n]
	}
	var all sync.WaitGroup
	all.Go(func() { _, _ = g.Submit(context.Background(), 1) })
	<-g.entered
	waits := make(chan error)
	go func() {
		_, err := g.Submit(context.Background(), 2)
		waits <- err
	}()
	require.Eventually(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.queue) == 1
	}, 2*time.Minute, time.Millisecond)
	_, err := g.Submit(t.Context(), 3) // no room
	require.ErrorIs(t, err, ErrBusy)
	require.Equal(t, 1, count(3))
	require.ErrorIs(t, <-waits, ErrBusy)
	require.Equal(t, 1, count(2))
	all.Wait()
	require.Zero(t, count(1), "a committer still holds it")
	close(g.open)
	require.NoError(t, g.Stop(t.Context()))
	require.Equal(t, map[int]int{1: 1, 2: 1, 3: 1}, released)
}

// Members of a batch that is bisected are released one by one, each exactly once.
func TestGroupCommitReleasesEveryMemberOfABadBatch(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	var mu sync.Mutex
	released := make(map[int]int)
	g.opts.Release = func(n int, _ error) {
		mu.Lock()
		defer mu.Unlock()
		released[n]++
	}
	errs := g.batch(t, 1, 2, 13, 4)
	require.Error(t, errs[13])
	require.Equal(t, map[int]int{0: 1, 1: 1, 2: 1, 13: 1, 4: 1}, released)
}
