package retention

import "sync"

// left is the position at which a run ran out of time, in a walk that otherwise starts at the
// beginning each time. This process's next run continues there. If every run began again with the
// first row, a walk that takes longer than a run would never reach the last rows.
type left[P any] struct {
	mu sync.Mutex
	at P
}

// take returns the position and resets it. A run that runs out of time stores another position.
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
