package rate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]PerSecond{
		"50/s": 50, "10/m": 10. / 60, "1000/h": 1000. / 3600, "7/h": 7. / 3600,
	} {
		var got PerSecond
		require.NoError(t, got.UnmarshalText([]byte(text)), text)
		require.InDelta(t, float64(want), float64(got), 1e-12, text)
		require.Equal(t, text, got.String())
	}
	var half PerSecond
	require.NoError(t, half.UnmarshalText([]byte("30/m")))
	require.InDelta(t, 0.5, float64(half), 0)
	require.Equal(t, "30/m", half.String())
	require.Equal(t, "10/s", PerSecond(600./60).String(), "the shortest unit")
	require.Empty(t, PerSecond(0).String())
	for _, text := range []string{"", "50", "0/s", "-1/s", "1.5/s", "50/d", "/s", "50/s/s"} {
		var got PerSecond
		require.Error(t, got.UnmarshalText([]byte(text)), text)
	}
}
