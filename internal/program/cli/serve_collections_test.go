package cli

import (
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSmallHeapIsCollectedLessOften(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for live, want := range map[uint64]int{
		0: 100, mib: 800, 8 * mib: 700, 10 * mib: 540, 16 * mib: 300, 32 * mib: 100, 48 * mib: 100, 64 * mib: 100, 1000 * mib: 100,
	} {
		percent := percentFor(live, 64*mib)
		require.Equal(t, want, percent, "%d MiB live", live/mib)
		if percent > usualPercent {
			require.LessOrEqual(t, live+live*uint64(percent)/100, uint64(64*mib), "%d MiB live", live/mib)
		}
	}
	require.Equal(t, 100, percentFor(10*mib, 16*mib), "in a small container")
}

func TestABurstIsExpected(t *testing.T) { //nolint:paralleltest // the collector is global to the process
	usual := debug.SetGCPercent(usualPercent)
	defer debug.SetGCPercent(usual)
	c := &collections{percent: usualPercent}
	c.set(mostPercent)
	require.Equal(t, mostPercent, debug.SetGCPercent(mostPercent))
	c.expectMuch()
	require.Equal(t, usualPercent, debug.SetGCPercent(usualPercent))
	c.set(mostPercent) // after a collection that found little in use
	require.Equal(t, mostPercent, debug.SetGCPercent(mostPercent))
	(*collections)(nil).expectMuch() // nil if GOGC is set
}

func TestMemoryIsGivenBackOnceWhenNoCollectionWasNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var given atomic.Int32
		c := &collections{rest: time.AfterFunc(restAfter, func() { given.Add(1) })}
		after := func(passed time.Duration, want int32) {
			time.Sleep(passed) //nolint:forbidigo // synctest's clock
			synctest.Wait()
			require.Equal(t, want, given.Load())
		}
		for automatic := range uint64(10) { // a busy process
			c.awaitRest(automatic)
			after(restAfter-time.Second, 0)
		}
		after(time.Second, 1)
		c.awaitRest(9) // no automatic collection since then
		after(time.Hour, 1)
		c.awaitRest(10)
		after(restAfter, 2)
	})
}
