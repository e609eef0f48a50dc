package ondemand

import (
	"context"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/drain"
)

// stopPause is the maximum pause between calls after Stop.
const stopPause = 2 * time.Millisecond

// Runner calls a function soon after Wake, one call at a time and with a pause after each call. It
// has no goroutine until Wake is called. It is safe for concurrent use.
type Runner struct {
	pause    time.Duration
	run      func()
	stopping chan struct{}
	underway sync.WaitGroup

	mu      sync.Mutex
	awake   bool // woken since the last call began
	running bool
	closed  bool
}

// NewRunner returns a Runner that calls run, and pauses after each call.
func NewRunner(pause time.Duration, run func()) *Runner {
	return &Runner{pause: pause, run: run, stopping: make(chan struct{})}
}

// Wake requests a call that begins after Wake was called. It reports whether such a call will
// begin. After Stop, calls can be requested only until the calls requested earlier have ended.
func (r *Runner) Wake() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed && !r.running {
		return false
	}
	r.awake = true
	if !r.running {
		r.running = true
		r.underway.Go(r.loop)
	}
	return true
}

func (r *Runner) loop() {
	for r.next() {
		r.run()
		select {
		case <-time.After(r.pause):
		case <-r.stopping:
			time.Sleep(min(r.pause, stopPause)) // a pause, because the function may be waiting for another goroutine
		}
	}
}

// next reports whether another call is due. If no call is due, next deregisters the goroutine in
// the same critical section.
func (r *Runner) next() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.awake = r.awake, false
	return r.running
}

// Stop waits until all requested calls have ended, or ctx is done. Once the calls have ended, Wake
// requests no more calls. Stop does not wait for a full pause. It may be called again.
func (r *Runner) Stop(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.stopping)
	}
	r.mu.Unlock()
	return drain.Wait(ctx, &r.underway)
}
