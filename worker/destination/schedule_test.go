package destination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func half() float64 { return 0.5 }

func TestScheduleDoublesUpToItsMaximum(t *testing.T) {
	t.Parallel()
	s := Schedule{Jitter: -1}
	var total time.Duration
	for attempt, want := range []time.Duration{
		1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second, 9: 1280 * time.Second,
		10: 2560 * time.Second, 11: time.Hour, 12: time.Hour, 1000: time.Hour,
	} {
		if want != 0 {
			require.Equal(t, want, s.Delay(attempt, 0, half), "attempt %d", attempt)
		}
	}
	for attempt := 1; !s.Exhausted(attempt); attempt++ {
		total += s.Delay(attempt, 0, half)
	}
	require.InDelta(t, 10, total.Hours(), 1, "the documented time to exhaustion")
}

func TestScheduleJitter(t *testing.T) {
	t.Parallel()
	s := Schedule{Initial: 10 * time.Second}
	require.Equal(t, 8*time.Second, s.Delay(1, 0, func() float64 { return 0 }))
	require.Equal(t, 10*time.Second, s.Delay(1, 0, half))
	require.Equal(t, 12*time.Second, s.Delay(1, 0, func() float64 { return 1 }))
}

func TestScheduleHonoursRetryAfterAsMinimum(t *testing.T) {
	t.Parallel()
	s := Schedule{Initial: 10 * time.Second}
	require.Equal(t, 31*time.Second, s.Delay(1, 30*time.Second, half))
	require.Equal(t, 10*time.Second, s.Delay(1, 3*time.Second, half))
	require.Equal(t, 24*time.Hour, s.Delay(1, 1000*time.Hour, half))
}

func TestScheduleBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{
			Initial: time.Duration(rapid.Int64Range(1, int64(maxWait)).Draw(t, "initial")),
			Jitter:  rapid.Float64Range(-1, 1).Draw(t, "jitter"),
		}
		s.Max = time.Duration(rapid.Int64Range(int64(s.Initial), int64(maxWait)).Draw(t, "max"))
		require.NoError(t, s.Validate())
		asked := time.Duration(rapid.Int64().Draw(t, "asked"))
		random := rapid.Float64Range(0, 0.999).Draw(t, "random")
		delay := s.Delay(rapid.Int().Draw(t, "attempt"), asked, func() float64 { return random })
		require.GreaterOrEqual(t, delay, min(max(asked, 0), maxWait))
		require.LessOrEqual(t, delay, maxWait)
	})
}

func TestScheduleExhausted(t *testing.T) {
	t.Parallel()
	require.False(t, Schedule{}.Exhausted(19))
	require.True(t, Schedule{}.Exhausted(20))
	require.True(t, Schedule{MaxAttempts: 1}.Exhausted(1))
}

func TestScheduleValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, Schedule{}.Validate())
	require.EqualError(t, Schedule{Initial: -1}.Validate(), "initial: -1ns is too short; it must be longer than 0s")
	require.EqualError(t, Schedule{Max: time.Second}.Validate(), "max: 1s is shorter than initial, 5s")
	require.EqualError(t, Schedule{Max: 48 * time.Hour}.Validate(), "max: 48h0m0s is too long; it must be at most 24h0m0s")
	require.EqualError(t, Schedule{MaxAttempts: -1}.Validate(), "max_attempts: -1 is too small; it must be at least 1")
	require.EqualError(t, Schedule{Jitter: 2}.Validate(), "jitter: 2 is too much; it must be at most 1")
}
