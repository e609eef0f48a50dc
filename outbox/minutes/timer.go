package minutes

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
