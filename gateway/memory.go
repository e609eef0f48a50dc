package gateway

import (
	"sync"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

// Sizes that govern the memory of a body.
const (
	// unbudgeted is how many bytes of every body are outside the budget, so that large
	// bodies cannot crowd out ordinary deliveries. MaxArriving and MaxInFlight bound them.
	unbudgeted = 64 << 10
	// believed is how much of a body must have arrived before memory is reserved for the
	// rest that its Content-Length claims. Below it the buffer doubles.
	believed = 1 << 20
	// large is the size above which LargeBody is called.
	large = 256 << 10
	// chunkStep is the step by which the buffer of a body without Content-Length grows
	// above believed.
	chunkStep = 4 << 20
)

// memory is the budget for the bodies of all deliveries. Nothing is allocated that is not
// reserved here, except the first unbudgeted bytes. Until they are proven, bodies of
// strangers may use only a part of it, and of the share of each source.
type memory struct {
	mu          sync.Mutex
	limit       int64
	used        int64
	bySource    map[string]int64
	ofStrangers int64
	unproven    map[string]int64 // of strangers, by source
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, bySource: make(map[string]int64), unproven: make(map[string]int64)}
}

// reservation is the part of the budget that one body uses.
type reservation struct {
	memory *memory
	source *source

	// guarded by memory.mu
	bytes int64
	known bool // whether the sender is known: it is proven, or earlier deliveries from its address were
}

func (m *memory) reservation(src *source, known bool) *reservation {
	return &reservation{memory: m, source: src, known: known}
}

// cover reserves the memory for a body of that size, and reports whether it was available.
func (r *reservation) cover(size int64) bool {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if !r.fitsLocked(size) {
		return false
	}
	if more := size - unbudgeted - r.bytes; more > 0 {
		r.bytes += more
		r.count(more)
	}
	return true
}

// fits reports whether cover would succeed now.
func (r *reservation) fits(size int64) bool {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	return r.fitsLocked(size)
}

// fitsLocked leaves half of the budget to the other sources, and a part of each half to
// known senders. It still lets each source have one body of its own limit.
func (r *reservation) fitsLocked(size int64) bool {
	m, more := r.memory, size-unbudgeted-r.bytes
	share := max(half(m.limit), r.source.largest())
	switch {
	case more <= 0:
		return true
	case m.used+more > m.limit || m.bySource[r.source.Name]+more > share:
		return false
	}
	return r.known || m.ofStrangers+more <= max(strangers.Part(m.limit), r.source.largest()) &&
		m.unproven[r.source.Name]+more <= max(strangers.Part(share), r.source.largest())
}

func (r *reservation) count(more int64) {
	r.memory.used += more
	count(r.memory.bySource, r.source.Name, more)
	if !r.known {
		r.countStranger(more)
	}
}

func (r *reservation) countStranger(more int64) {
	r.memory.ofStrangers += more
	count(r.memory.unproven, r.source.Name, more)
}

// prove returns the body's share of the strangers' part.
func (r *reservation) prove() {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	if !r.known {
		r.countStranger(-r.bytes)
		r.known = true
	}
}

// release returns the whole reservation. It may be called again, from any goroutine.
func (r *reservation) release() {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.bytes == 0 {
		return
	}
	r.count(-r.bytes)
	r.bytes = 0
}

func (m *memory) reserved() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}
