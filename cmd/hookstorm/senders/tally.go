package senders

import (
	"sync"
	"time"
)

const (
	slot  = 100 * time.Millisecond
	slots = 128 // more than ten seconds
)

// tally counts acknowledgements.
type tally struct {
	mu     sync.Mutex
	all    int64
	latest [slots]struct {
		at int64 // number of the slot
		n  int
	}
}

func (t *tally) add(now time.Time) {
	at := now.UnixNano() / int64(slot)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all++
	s := &t.latest[at%slots]
	if s.at != at {
		s.at, s.n = at, 0
	}
	s.n++
}

func (t *tally) acknowledged() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}

func (t *tally) inLast(d time.Duration, now time.Time) int {
	last := now.UnixNano() / int64(slot)
	first := last - int64(d/slot)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for i := range t.latest {
		if s := &t.latest[i]; s.at >= first && s.at <= last {
			n += s.n
		}
	}
	return n
}
