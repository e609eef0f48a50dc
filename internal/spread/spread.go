// Package spread summarises measurements of several rounds: a median, and the interval
// it lies in with enough certainty.
package spread

import "slices"

// Certainty is the least probability with which the median of what is measured lies
// within a Spread, of at least as many rounds as it takes.
const (
	Certainty = 0.93
	fewest    = 5
)

// Spread is what some rounds measured. Two of them are told apart from one another, or
// one from a bound, when that lies outside of Low to High. More rounds make these
// narrower, whereas Least and Most move apart with each.
type Spread struct {
	Median      float64
	Low, High   float64 // between which the median lies, with Certainty; of five rounds, the least and the greatest
	Least, Most float64 // of all rounds
	Rounds      int
}

// Of is the spread of what was measured, one value of each round, zero of none. It
// supposes nothing of how the values are distributed: each is as likely above the
// median as below, so how many are is a binomial distribution.
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

// Reaches tells whether the median reaches a bound, a least one or a most one.
func (s Spread) Reaches(bound float64, atLeast bool) bool {
	if atLeast {
		return s.Median >= bound
	}
	return s.Median <= bound
}

// Excludes tells whether a bound lies outside the spread. Otherwise another run might
// find it on the other side of the median, as it might with fewer than five rounds.
func (s Spread) Excludes(bound float64) bool {
	return s.Rounds >= fewest && (bound <= s.Low || s.High <= bound)
}

// outside is how many of n values may be left out at each end.
func outside(n int) int {
	// ways are the subsets of n that have k of them, of all that there are.
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
