package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSparklines(t *testing.T) {
	t.Parallel()
	at := func(shares ...float64) []*float64 {
		list := make([]*float64, len(shares))
		for i, share := range shares {
			if share >= 0 {
				list[i] = &share
			}
		}
		return list
	}
	for want, shares := range map[string][]*float64{
		"":      nil,
		"▁▁▁":   at(0, 0, 0),
		"▁ █":   at(0, -1, 0.01),
		"▁▂▅█ ": at(0, 0.1, 0.3, 0.5, -1)[0:5],
	} {
		require.Equal(t, want, sparkline(shares))
	}
}

// A number that was counted only up to a limit has a plus.
func TestCountsOfWhichThereMayBeMore(t *testing.T) {
	t.Parallel()
	d := Destination{Effects: map[string]int64{"pending": 16_666, "failed": 3}, AtLeast: []string{"pending"}}
	require.Equal(t, []string{"16666+", "3", "0"}, []string{d.Count("pending"), d.Count("failed"), d.Count("parked")})
	require.Equal(t, "50000+", Source{Undispatched: 50_000, AtLeast: true}.Waits())
	require.Equal(t, "7", Source{Undispatched: 7}.Waits())
}

func TestVolumes(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int64{"0 B": 0, "1023 B": 1023, "1.0 KiB": 1024, "4.5 GiB": 9 << 29, "2048.0 TiB": 1 << 51} {
		require.Equal(t, want, Volume(n))
	}
}
