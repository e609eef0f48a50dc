package ondemand_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/internal/ondemand"
)

func TestWorkIsDoneAtOnceAndThenOncePerPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), []time.Duration(nil)
		r := ondemand.NewRunner(time.Second, func() { calls = append(calls, time.Since(began)) })
		for range 25 { // 2.5 seconds
			require.True(t, r.Wake())
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // synctest's clock
		}
		time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock
		synctest.Wait()
		require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, calls)
		r.Wake()
		synctest.Wait()
		require.Len(t, calls, 5)
		require.NoError(t, r.Stop(t.Context()))
	})
}

func TestStopDoesWhatIsLeftWithoutAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := ondemand.NewRunner(time.Hour, func() { calls++ })
		r.Wake()
		synctest.Wait()
		r.Wake()
		began := time.Now()
		require.NoError(t, r.Stop(t.Context()))
		require.Equal(t, 2, calls)
		require.Less(t, time.Since(began), time.Second)
		require.False(t, r.Wake())
		require.NoError(t, r.Stop(t.Context()))
		require.Equal(t, 2, calls)
	})
}

func TestTheLastCallsMayAskForMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		var r *ondemand.Runner
		r = ondemand.NewRunner(time.Hour, func() {
			if calls++; calls < 5 {
				r.Wake()
			}
		})
		r.Wake()
		require.NoError(t, r.Stop(t.Context()))
		require.Equal(t, 5, calls)
	})
}

func TestStopEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		r := ondemand.NewRunner(0, func() { <-held })
		r.Wake()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.Stop(ctx), context.DeadlineExceeded)
		close(held)
		require.NoError(t, r.Stop(t.Context()))
	})
}
