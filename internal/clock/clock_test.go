package clock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/clock"
)

func TestClockIsRightUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	require.Zero(t, clock.Skew())
	require.WithinDuration(t, time.Now(), clock.Now(), time.Minute)
	require.InDelta(t, time.Hour, clock.Until(time.Now().Add(time.Hour)), float64(time.Minute))
	require.InDelta(t, time.Hour, clock.Since(time.Now().Add(-time.Hour)), float64(time.Minute))
}
