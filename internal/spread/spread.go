// Package spread summarizes the measurements of several rounds as their median and an interval that
// contains the true median with enough certainty.
package spread

import "slices"

// Certainty is the minimum probability that the true median lies within a Spread of at least
// fewest rounds.
const (
	Certainty = 0.93
	fewest    = 5
)

// Spread summarizes the measurements of several rounds. The true median lies between Low and High
// with a probability of at least Certainty. More rounds bring Low and High closer together, but
// move Least and Most apart.
type Spread struct {
	Median      float64
	Low, High   float64 // limits of the true median, with Certainty; up to eight rounds, the same as Least and Most
	Least, Most float64 // smallest and largest value of all rounds
	Rounds      int
}

// Of returns the spread of the measurements, one value per round, or the zero Spread if there are
// none. It assumes nothing about the distribution of the values. Each value is as likely to be
// above the true median as below it, so the number of values above it has a binomial distribution.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	out := outside(len(sorted))
	return Spread{
		Median: (sorted[last/2] + sorted[(last+1)/2]) / 2,
		Low:    sorted[out], High: sorted[last-out],
		Least: sorted[0], Most: sorted[last],
		Rounds: len(sorted),
	}
}

// Reaches reports whether the median is at least the bound or, if atLeast is false, at most the
// bound.
func (s Spread) Reaches(bound float64, atLeast bool) bool {
	if atLeast {
		return s.Median >= bound
	}
	return s.Median <= bound
}

// Excludes reports whether a bound lies outside the range from Low to High, or equals Low or High.
// If the bound lies inside the range, another run might find it on the other side of the median.
// With fewer than five rounds, Excludes is always false.
func (s Spread) Excludes(bound float64) bool {
	return s.Rounds >= fewest && (bound <= s.Low || s.High <= bound)
}

// outside returns how many of n sorted values can be left out at each end. The range of the other
// values still contains the true median with a probability of at least Certainty, if there are at
// least fewest values.
func outside(n int) int {
	// ways is the number of subsets with k elements, divided by the number of all subsets of n
	// values.
	ways := 1.0
	for range n {
		ways /= 2
	}
	k, left := 0, 0.0
	for ; k < (n-1)/2; k++ {
		left += ways
		ways *= float64(n-k) / float64(k+1)
		if 1-2*(left+ways) < Certainty {
			break
		}
	}
	return k
}
