package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A part stalls if it has work and finishes none for a while. A part without work, or a part that
// finishes some work, is healthy after any number of checks.
func TestAPartStallsWhileItHasWorkAndEndsNone(t *testing.T) {
	t.Parallel()
	var underway, ended int64
	var watched progress
	watched.watch("worker", 3*progressEvery, func() (int64, int64) { return underway, ended })
	watched.watch("gateway", time.Hour, func() (int64, int64) { return 1, 0 })
	looks := func(n int) error {
		for range n {
			watched.look()
		}
		return watched.stalled()
	}
	require.NoError(t, looks(100), "an idle part is healthy")
	underway = 2
	require.NoError(t, looks(2))
	require.EqualError(t, looks(1), "the worker makes no progress: 2 in progress, and none has finished for 3s")
	ended++
	require.NoError(t, looks(1), "one item has finished")
	require.NoError(t, looks(2))
	require.Error(t, looks(1))
	underway = 0
	require.NoError(t, looks(100), "an idle part is healthy")
}

func TestAStalledPartIsNotReady(t *testing.T) {
	t.Parallel()
	a := &App{prepared: make(chan struct{})}
	close(a.prepared)
	a.progress.watch("gateway", progressEvery, func() (int64, int64) { return 1, 0 })
	a.progress.look()
	a.progress.look()
	require.ErrorContains(t, a.Ready(t.Context()), "the gateway makes no progress")
}
