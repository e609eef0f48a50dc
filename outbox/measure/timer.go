package measure

import (
	"slices"
	"time"
)

// Timer counts durations. A nil Timer counts nothing. It is safe for concurrent use.
type Timer struct {
	took [len(bounds) + 1]*Counter
}

// Timer returns a Timer. Keep the Timer: it has one Counter for each of its bounds.
func (c *Counts) Timer(kind Kind, name string) *Timer {
	if c == nil {
		return nil
	}
	t := &Timer{}
	for i := range t.took {
		t.took[i] = c.Of(kind, name, took(i))
	}
	return t
}

// Add counts a duration.
func (t *Timer) Add(d time.Duration) {
	if t == nil {
		return
	}
	i, _ := slices.BinarySearch(bounds[:], d.Seconds())
	t.took[i].Add(1)
}

// Within returns the smallest bound that covers the given share of the durations counted by a
// Timer. It returns false if nothing was counted, or if no bound covers that share.
func Within(counts map[What]int64, share float64) (time.Duration, bool) {
	var all, sum int64
	for i := range len(bounds) + 1 {
		all += counts[took(i)]
	}
	for i, bound := range bounds {
		if sum += counts[took(i)]; all > 0 && float64(sum) >= share*float64(all) {
			return time.Duration(bound * float64(time.Second)), true
		}
	}
	return 0, false
}

// Longest is the longest bound.
const Longest = 30 * time.Second
