package chart_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/chart"
)

func values(list ...float64) []*float64 {
	all := make([]*float64, len(list))
	for i, value := range list {
		if value >= 0 { // a negative number stands for a gap
			all[i] = &value
		}
	}
	return all
}

// A line is drawn as steps, with a gap where no value is known.
func TestALineIsBrokenWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	double := func(value float64) float64 { return 2 * value }
	require.Equal(t, "M10.0 2.0h5.0L15.0 4.0h5.0M25.0 0.0h5.0", chart.Steps(values(1, 2, -1, 0), 10, 5, double))
	require.Empty(t, chart.Steps(values(-1, -1), 0, 1, double))
}

func TestAChartSaysItsNumbers(t *testing.T) {
	t.Parallel()
	d := chart.Chart{
		ID: "events", Title: "Events", Unit: "per minute", Since: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Step: time.Minute,
		Gaps: []bool{false, true, true, false, true},
		Lines: []chart.Line{
			{Name: "Accepted", Summary: "7 in all", Class: "good", Values: values(3, -1, -1, 4, -1)},
			{Name: "Refused", Summary: "0 in all", Class: "failed", Dash: "2 3", Values: values(0, -1, -1, 0, -1)},
		},
		Marks: []chart.Mark{{Place: 0, Number: 1, Title: "a"}, {Place: 3, Number: 2, Title: "b"}},
	}.Draw()
	require.Equal(t, "Accepted: 7 in all. Refused: 0 in all.", d.Description)
	require.Len(t, d.Shades, 2)

	require.Equal(t, []string{"0", "1", "2", "3", "4"}, labels(d.Y))
	require.Equal(t, fmt.Sprintf("%d.0", d.Area.Top), d.Y[4].At, "the highest value is at the top")
	require.Equal(t, []string{"12:00"}, labels(d.X))
	require.Equal(t, []int{1, 2}, []int{d.Flags[0].Number, d.Flags[1].Number})
	require.Equal(t, "2 3", d.Drawn[1].Dash)
}

func labels(ticks []chart.Tick) []string {
	var list []string
	for _, tick := range ticks {
		list = append(list, tick.Label)
	}
	return list
}

// An axis has at most five labels, all of them round numbers.
func TestAnAxisHasFewRoundLabels(t *testing.T) {
	t.Parallel()
	for highest, want := range map[float64][]string{
		0:         {"0", "1"},
		0.2:       {"0", "1"},
		7:         {"0", "2", "4", "6", "8"},
		1_234:     {"0", "500", "1k", "1.5k"},
		3_000_000: {"0", "1M", "2M", "3M"},
	} {
		d := chart.Chart{Gaps: make([]bool, 1), Step: time.Minute, Lines: []chart.Line{{Values: values(highest)}}}.Draw()
		require.Equal(t, want, labels(d.Y), highest)
	}
	d := chart.Chart{Scale: chart.Durations, Gaps: make([]bool, 1), Step: time.Minute, Lines: []chart.Line{{Values: values(chart.Longest)}}}.Draw()
	require.Equal(t, []string{"10 ms", "100 ms", "1 s", "10 s"}, labels(d.Y))
	require.Contains(t, d.Drawn[0].Path, fmt.Sprintf(" %d.0h", d.Area.Top))
}

// Times are in the chosen zone, even when the zone's clocks change.
func TestAnAxisHasTimesOfItsZone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone         string
		periods      int
		step         time.Duration
		first, count string
	}{
		{zone: "UTC", periods: 60, step: time.Minute, first: "12:00", count: "4"},
		{zone: "Asia/Kathmandu", periods: 96, step: 15 * time.Minute, first: "18:00", count: "4"},
		{zone: "America/St_Johns", periods: 168, step: time.Hour, first: "Sun 25", count: "7"},
	} {
		zone, err := time.LoadLocation(c.zone)
		require.NoError(t, err)
		d := chart.Chart{Since: time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC).In(zone), Step: c.step, Gaps: make([]bool, c.periods)}.Draw()
		require.Equal(t, c.first, d.X[0].Label, c.zone)
		require.Equal(t, c.count, strconv.Itoa(len(d.X)), c.zone)
	}
}

// Only the first of several marks that are close to each other has a number.
func TestMarksDoNotCoverEachOther(t *testing.T) {
	t.Parallel()
	c := chart.Chart{Step: time.Minute, Gaps: make([]bool, 60)}
	for i := range 60 {
		c.Marks = append(c.Marks, chart.Mark{Place: i, Number: i + 1})
	}
	numbered := 0
	for _, flag := range c.Draw().Flags {
		if flag.Number > 0 {
			numbered++
		}
	}
	require.Less(t, numbered, 30)
	require.Greater(t, numbered, 10)
}
