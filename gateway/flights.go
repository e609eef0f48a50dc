package gateway

import "sync"

// admission is the answer to a delivery that wants to be read.
type admission int

const (
	admitted admission = iota
	refusedFull
	refusedDraining
)

// flights counts the deliveries that are being read, committed or answered,
// and bounds them. A mutex keeps count and draining together: between the last
// departure and the end of a drain nobody can be admitted.
type flights struct {
	mu       sync.Mutex
	limit    int
	count    int
	draining bool
	drained  chan struct{} // closed once draining and count is zero
}

func newFlights(limit int) *flights {
	return &flights{limit: limit, drained: make(chan struct{})}
}

// enter must be followed by leave when it returns admitted.
func (f *flights) enter() admission {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.draining:
		return refusedDraining
	case f.count >= f.limit:
		return refusedFull
	}
	f.count++
	return admitted
}

func (f *flights) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count--
	f.closeIfDrained()
}

// drain refuses everybody from now on. The channel is closed when the last one
// has left.
func (f *flights) drain() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.draining {
		f.draining = true
		f.closeIfDrained()
	}
	return f.drained
}

func (f *flights) closeIfDrained() {
	if f.draining && f.count == 0 {
		close(f.drained)
	}
}

func (f *flights) inFlight() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(f.count)
}
