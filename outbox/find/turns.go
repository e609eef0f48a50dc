package find

import (
	"context"
	"time"
)

// restFactor is the pause of a Brief Finder's search after a slice, as a multiple of the slice's
// duration.
const restFactor = 2

// turns lets one payload search work at a time, and makes it pause between slices. A search keeps
// one CPU of this process and one of the server busy. Deliveries need these CPUs too. With a nil
// *turns, searches neither wait nor pause.
type turns struct {
	free chan struct{} // has a value while no search works or pauses
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
