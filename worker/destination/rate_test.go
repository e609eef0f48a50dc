package destination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rate{
		"50/s": {50, time.Second}, "10/m": {10, time.Minute}, "1000/h": {1000, time.Hour},
	} {
		var got Rate
		require.NoError(t, got.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, got, text)
		require.Equal(t, text, got.String())
	}
	require.InDelta(t, 0.5, Rate{30, time.Minute}.PerSecond(), 0)
	require.Zero(t, Rate{}.PerSecond())
	for _, text := range []string{"", "50", "0/s", "-1/s", "1.5/s", "50/d", "/s", "50/s/s"} {
		var got Rate
		require.Error(t, got.UnmarshalText([]byte(text)), text)
	}
}
