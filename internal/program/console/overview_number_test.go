package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// A key number has a name, a unit, the usual value, and a chart whose bars are within its axis.
func TestAKeyNumberIsComparedWithTheUsualOne(t *testing.T) {
	t.Parallel()
	usual := 0.018
	hours := make([]*float64, 24)
	for i, rate := range map[int]float64{3: 0.05, 22: 0, 23: 0.1} {
		hours[i] = &rate
	}
	n := numberOf("Duplicate rate", "events", doctor.Share{Part: 21, All: 1000, Hours: hours, Usual: &usual})
	require.Equal(t, "2.1 %", n.Value)
	require.Equal(t, "of 1000 events in the last hour", n.Of)
	require.Equal(t, "usually 1.8 %", n.Usual)
	require.Equal(t, "10.0 %", n.Top)
	require.Equal(t, "Duplicate rate by hour over the last 24 hours, the current hour on the right: highest 10.0 %, lowest 0.0 %", n.Title)
	require.Equal(t, []bar{{X: 31, Y: 24, Height: 24}, {X: 221, Y: 47, Height: 1}, {X: 231, Y: 0, Height: 48}}, n.Bars)
	require.Equal(t, 240, n.Width)

	// Without data nothing is drawn or compared, and a rate of almost zero does not look high.
	empty := numberOf("Duplicate rate", "events", doctor.Share{Hours: make([]*float64, 24)})
	require.Equal(t, "–", empty.Value)
	require.Empty(t, empty.Usual)
	require.Empty(t, empty.Bars)
	small := 0.0005
	low := numberOf("Duplicate rate", "events", doctor.Share{Part: 1, All: 2000, Hours: []*float64{&small}})
	require.Equal(t, "1.0 %", low.Top)
	require.Less(t, low.Bars[0].Height, 4)
}
