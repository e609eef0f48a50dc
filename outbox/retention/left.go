package retention

import "sync"

// left is the place at which a run that ran out of time stopped, in a walk that otherwise
// starts at the beginning each time. The next run of this process continues there. Otherwise a
// walk longer than a run would never reach its last rows.
type left[P any] struct {
	mu sync.Mutex
	at P
}

// take returns the place once: a run that runs out of time stores another one.
func (l *left[P]) take() P {
	l.mu.Lock()
	defer l.mu.Unlock()
	var beginning P
	at := l.at
	l.at = beginning
	return at
}

func (l *left[P]) leave(at P) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = at
}
