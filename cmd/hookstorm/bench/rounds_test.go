package bench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// Only the behaviour of the host decides which rounds count, not the measurements of the rounds.
func TestRoundsThatTheHostDisturbedAreMeasuredAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		quick  bool
		stolen []float64 // share of stolen CPU time in each possible round
		kept   []float64 // the numbers of the kept rounds; each round's measurement is its number
		says   string
	}{
		"an undisturbed machine": {stolen: []float64{0.01, 0, 0.02}, kept: []float64{0, 1, 2}, says: "gave 1.0 % (0.0..2.0) of the CPU time of a round to other guests.\n"},
		"one disturbed round":    {stolen: []float64{0.01, 0.5, 0.02, 0.03}, kept: []float64{0, 2, 3}, says: "gave 2.0 % (1.0..3.0) of the CPU time of a round to other guests. Left out: 1 round in which"},
		"a restless machine":     {stolen: []float64{0.2, 0.5, 0.3, 0.4, 0.1, 0.6}, kept: []float64{0, 2, 4}, says: "gave 20.0 % (10.0..30.0) of the CPU time of a round to other guests. Left out: 3 rounds in which"},
		"a quick run":            {quick: true, stolen: []float64{0.5, 0.5, 0.5}, kept: []float64{0, 1, 2}, says: "gave 50.0 %"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			round := -1
			b := &bench{opts: Options{Rounds: 3, Quick: c.quick}, report: &report.Report{}, stolen: func() func() float64 {
				round++
				return func() float64 { return c.stolen[round] }
			}}
			for n := range b.rounds {
				b.report.Add(report.SectionAccept, report.Limit, report.Rate, float64(n))
				b.report.Add(report.SectionAccept, report.Naive, report.Rate, float64(n))
			}
			require.Len(t, c.stolen, round+1, "no more rounds than needed")
			for _, series := range b.report.Series {
				require.Equal(t, c.kept, series.Values, "both measurements of a round are kept, or neither")
			}
			var page strings.Builder
			require.NoError(t, b.report.Print(&page))
			require.Contains(t, page.String(), c.says)
		})
	}
}
