package retention

import "sync"

// left is where a run that ended by its time stood in a walk that begins at its
// beginning each time. The next run of this process goes on there, or what comes last in
// a walk that takes longer than a run would never be looked at.
type left[P any] struct {
	mu sync.Mutex
	at P
}

// take returns the place, once: whoever ends by its time leaves another.
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
