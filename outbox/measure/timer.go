package measure

import (
	"slices"
	"time"
)

// Timer counts durations, and is safe for concurrent use. A nil Timer counts nothing.
type Timer struct {
	took [len(bounds) + 1]*Counter
}

// Timer returns a Timer of gateway responses or attempts. Keep the Timer: each call looks up one
// Counter for every bound.
func (c *Counts) Timer(kind Kind, name string) *Timer { return c.timer(kind, name, allTook) }

// FirstTimer is like Timer, but for first attempts.
func (c *Counts) FirstTimer(kind Kind, name string) *Timer { return c.timer(kind, name, firstTook) }

func (c *Counts) timer(kind Kind, name string, of timed) *Timer {
	if c == nil {
		return nil
	}
	t := &Timer{}
	for i := range t.took {
		t.took[i] = c.Of(kind, name, of.within(i))
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
	return allTook.share(counts, share)
}

// FirstWithin is like Within, but for the durations counted by a FirstTimer.
func FirstWithin(counts map[What]int64, share float64) (time.Duration, bool) {
	return firstTook.share(counts, share)
}

// FirstTimed returns the number of durations that a FirstTimer counted.
func FirstTimed(counts map[What]int64) int64 { return firstTook.all(counts) }

func (t timed) all(counts map[What]int64) (all int64) {
	for i := range len(bounds) + 1 {
		all += counts[t.within(i)]
	}
	return all
}

func (t timed) share(counts map[What]int64, share float64) (time.Duration, bool) {
	all, sum := t.all(counts), int64(0)
	for i, bound := range bounds {
		if sum += counts[t.within(i)]; all > 0 && float64(sum) >= share*float64(all) {
			return time.Duration(bound * float64(time.Second)), true
		}
	}
	return 0, false
}

// Longest is the largest bound of a Timer, which does not distinguish between longer durations.
const Longest = 30 * time.Second
