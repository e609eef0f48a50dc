package strangers

import (
	"sync"
	"time"
)

// Known remembers keys that were noted recently, such as the addresses of verified senders. It is
// safe for concurrent use.
type Known[K comparable] struct {
	limit int
	lasts time.Duration
	now   func() time.Time

	mu     sync.Mutex
	since  time.Time // start of the current period
	recent map[K]struct{}
	former map[K]struct{} // the previous period's keys
}

// NewKnown returns a Known that remembers nothing yet. The parameter lasts is the minimum time for
// which the Known remembers a key, unless more than limit other keys are noted meanwhile.
func NewKnown[K comparable](limit int, lasts time.Duration, now func() time.Time) *Known[K] {
	return &Known[K]{limit: limit, lasts: lasts, now: now, since: now(), recent: make(map[K]struct{})}
}

// Note remembers a key.
func (k *Known[K]) Note(key K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.age()
	if _, noted := k.recent[key]; noted {
		return
	}
	if len(k.recent) >= k.limit {
		k.turn()
	}
	k.recent[key] = struct{}{}
}

// Has reports whether a key is remembered.
func (k *Known[K]) Has(key K) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.age()
	_, is := k.recent[key]
	if !is {
		_, is = k.former[key]
	}
	return is
}

// age forgets keys that were noted too long ago.
func (k *Known[K]) age() {
	switch age := k.now().Sub(k.since); {
	case age >= 2*k.lasts:
		k.turn()
		k.former = nil
	case age >= k.lasts:
		k.turn()
	}
}

func (k *Known[K]) turn() {
	k.former, k.recent, k.since = k.recent, make(map[K]struct{}), k.now()
}
