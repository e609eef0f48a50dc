package measure

import (
	"slices"
	"time"
)

// Timer counts by how long something took. A nil one counts nothing. It is safe for
// concurrent use.
type Timer struct {
	took [len(bounds) + 1]*Counter
}

// Timer makes a Timer. Keep it: it is a Counter for each of its bounds.
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

// Add counts one that took so long.
func (t *Timer) Add(d time.Duration) {
	if t == nil {
		return
	}
	i, _ := slices.BinarySearch(bounds[:], d.Seconds())
	t.took[i].Add(1)
}

// Within is the bound within which a share of what a Timer counted was, false without a
// bound that it was within: none is known, or it took longer than all of them.
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
