package find

import (
	"context"
	"time"
)

// restFactor is how long a search of a Brief Finder rests after a slice, as a multiple of the
// time that the slice took.
const restFactor = 2

// turns lets one search in payloads work at a time, and rest in between. A search keeps a CPU
// of ours and one of the server busy, which deliveries need too. A nil *turns does neither.
type turns struct {
	free chan struct{} // has a value while no search works
	rest int
}

func newTurns() *turns {
	t := &turns{free: make(chan struct{}, 1), rest: restFactor}
	t.free <- struct{}{}
	return t
}

// take waits for a turn, and returns a function that ends it.
func (t *turns) take(ctx context.Context) (end func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case <-t.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	began := time.Now()
	return func() {
		time.AfterFunc(time.Duration(t.rest)*time.Since(began), func() { t.free <- struct{}{} })
	}, nil
}
