package spread_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/spread"
)

func ExampleOf() {
	s := spread.Of([]float64{1.31, 1.18, 1.29, 1.52, 1.35})
	fmt.Printf("%.2f (%.2f..%.2f)\n", s.Median, s.Low, s.High)
	fmt.Println("below 1.4:", s.Reaches(1.4, false), "- and that is outside the spread:", s.Excludes(1.4))
	// Output:
	// 1.31 (1.18..1.52)
	// below 1.4: true - and that is outside the spread: false
}

// The expected ranks are from published tables for the sign test.
func TestTheSpreadLeavesOutWhatTellsNothingOfTheMedian(t *testing.T) {
	t.Parallel()
	for n, out := range map[int]int{1: 0, 2: 0, 3: 0, 5: 0, 6: 0, 7: 0, 8: 0, 9: 1, 10: 1, 11: 2, 15: 3, 21: 5, 41: 14, 1000: 470} {
		var values []float64
		for i := range n {
			values = append(values, float64(i))
		}
		rand.Shuffle(n, func(i, j int) { values[i], values[j] = values[j], values[i] })
		s := spread.Of(values)
		require.Equal(t, spread.Spread{
			Median: float64(n-1) / 2, Low: float64(out), High: float64(n - 1 - out), Least: 0, Most: float64(n - 1), Rounds: n,
		}, s, "%d values", n)
	}
	require.Zero(t, spread.Of(nil))
}

// The true median lies within the spread with a probability of Certainty, even if the distribution
// is skewed.
func TestTheMedianLiesWithinTheSpread(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{5, 9, 21} {
		within := 0
		const times = 4000
		for range times {
			values := make([]float64, n)
			for i := range values {
				if values[i] = random.ExpFloat64(); random.IntN(10) == 0 {
					values[i] *= 100 // a stall
				}
			}
			// 0.80892 is the median m of the mixture: 0.9 exp(-m) + 0.1 exp(-m/100) = 0.5.
			if !spread.Of(values).Excludes(0.80892) {
				within++
			}
		}
		require.Greater(t, float64(within)/times, spread.Certainty-0.015, "%d values", n)
	}
}

func TestABoundIsReachedFromItsOwnSide(t *testing.T) {
	t.Parallel()
	s := spread.Of([]float64{1, 2, 3, 4, 5})
	require.True(t, s.Reaches(3, true) && s.Reaches(3, false))
	require.True(t, s.Reaches(2, true))
	require.False(t, s.Reaches(2, false))
	require.False(t, s.Reaches(4, true))
	require.False(t, s.Excludes(4.9))
	require.True(t, s.Excludes(5))
	require.True(t, s.Excludes(0.5))
	require.False(t, spread.Of([]float64{1, 1, 1, 1}).Excludes(5), "four rounds are too few to be sure")
}
