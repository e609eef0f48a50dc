package drain_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/drain"
)

func TestWaitEndsWithTheLastOrWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var underway sync.WaitGroup
		require.NoError(t, drain.Wait(t.Context(), &underway), "nothing is under way")
		for _, d := range []time.Duration{time.Second, 3 * time.Second} {
			underway.Go(func() { time.Sleep(d) }) //nolint:forbidigo // synctest's clock
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, drain.Wait(ctx, &underway), context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(start))
		require.NoError(t, drain.Wait(t.Context(), &underway))
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}
