package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/retry"
)

func TestPausesDoubleUpToTheirMaximum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var pauses, begun []time.Duration
		for pause := range (retry.Pauses{First: 10 * time.Millisecond, Max: 25 * time.Millisecond, Tries: 4}).Until(t.Context()) {
			pauses, begun = append(pauses, pause), append(begun, time.Since(start))
		}
		const ms = time.Millisecond
		require.Equal(t, []time.Duration{10 * ms, 20 * ms, 25 * ms, 25 * ms}, pauses)
		require.Equal(t, []time.Duration{0, 10 * ms, 30 * ms, 55 * ms}, begun)
		require.Equal(t, 55*ms, time.Since(start), "there is no pause after the last try")
	})
}

func TestALoopThatIsLeftDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for range (retry.Pauses{First: time.Hour}).Until(t.Context()) {
			break
		}
		require.Zero(t, time.Since(start))
	})
}

func TestADoneContextEndsThePauseButNotTheFirstTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		tries := 0
		for range (retry.Pauses{First: time.Hour}).Until(ctx) {
			tries++
		}
		require.Equal(t, 1, tries)
		for range (retry.Pauses{First: time.Hour}).Until(ctx) {
			tries++
		}
		require.Equal(t, 2, tries)
		require.ErrorIs(t, retry.Wait(ctx, time.Nanosecond), context.DeadlineExceeded)
		require.ErrorIs(t, retry.Wait(ctx, -1), context.DeadlineExceeded)
	})
}

func TestSpreadPausesStayBetweenHalfAndOneAndAHalf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for pause := range (retry.Pauses{First: time.Second, Max: time.Second, Spread: true, Tries: 100}).Until(t.Context()) {
			require.GreaterOrEqual(t, pause, 500*time.Millisecond)
			require.Less(t, pause, 1500*time.Millisecond)
		}
	})
}
