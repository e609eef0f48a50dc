package gateway

import "sync"

// How a body comes by its memory.
const (
	// unbudgeted bytes of every body are outside the budget, so that ordinary
	// deliveries are taken whatever the large ones do. MaxInFlight bounds them.
	unbudgeted = 64 << 10
	// believed is how much of a body must have come before room is made for the
	// rest that its Content-Length claims. Below it the buffer doubles.
	believed = 1 << 20
	// large is from how much on LargeBody is told.
	large = 256 << 10
	// chunkStep is how far a body without Content-Length grows at once above
	// that size.
	chunkStep = 4 << 20
)

// memory is the budget for the bodies of all deliveries. What is not reserved
// here is not allocated.
type memory struct {
	mu       sync.Mutex
	limit    int64
	used     int64
	bySource map[string]int64
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, bySource: make(map[string]int64)}
}

// reservation is what one body takes of the budget.
type reservation struct {
	memory *memory
	source *source
	bytes  int64 // guarded by memory.mu
}

func (m *memory) reservation(src *source) *reservation {
	return &reservation{memory: m, source: src}
}

// cover reserves what a body of that size needs, and reports whether there was
// room.
func (r *reservation) cover(size int64) bool {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if !r.fitsLocked(size) {
		return false
	}
	if more := size - unbudgeted - r.bytes; more > 0 {
		r.bytes += more
		m.used += more
		m.bySource[r.source.Name] += more
	}
	return true
}

// fits reports whether cover would find room at this moment.
func (r *reservation) fits(size int64) bool {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	return r.fitsLocked(size)
}

// fitsLocked leaves half of the budget to the other sources, but lets each have
// one body of its own cap.
func (r *reservation) fitsLocked(size int64) bool {
	m, more := r.memory, size-unbudgeted-r.bytes
	share := max(half(m.limit), r.source.largest())
	return more <= 0 || m.used+more <= m.limit && m.bySource[r.source.Name]+more <= share
}

// release gives everything back. It may be called again, from any goroutine.
func (r *reservation) release() {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.bytes == 0 {
		return
	}
	m.used -= r.bytes
	if m.bySource[r.source.Name] -= r.bytes; m.bySource[r.source.Name] == 0 {
		delete(m.bySource, r.source.Name)
	}
	r.bytes = 0
}

func (m *memory) reserved() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}
