package gateway

import (
	"sync"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

// Sizes that control how much memory a body gets.
const (
	// unbudgeted is the size of the first part of every body, in bytes. This part does not count
	// against the budget, so that large bodies cannot crowd out ordinary deliveries. Until a
	// delivery is accepted or refused, MaxArriving and MaxInFlight limit the number of bodies.
	// While the response is written, only MaxConnections limits it.
	unbudgeted = 64 << 10
	// believed is the number of bytes that must have arrived before memory is reserved for the
	// rest of the claimed Content-Length. Before that, the buffer grows by doubling.
	believed = 1 << 20
	// large is the size above which LargeBody is called.
	large = 256 << 10
	// chunkStep is the step by which the buffer for a body without Content-Length grows above
	// believed.
	chunkStep = 4 << 20
)

// memory is the budget for the bodies of all deliveries. The gateway reserves memory for a body
// before it allocates the memory, except for the first bytes of the body (see the constant
// unbudgeted). Bodies from unknown senders may use only a part of the budget and of each source's
// share, until the senders are verified.
type memory struct {
	mu          sync.Mutex
	limit       int64
	used        int64
	bySource    map[string]int64
	ofStrangers int64
	unproven    map[string]int64 // bytes of unknown senders, by source
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, bySource: make(map[string]int64), unproven: make(map[string]int64)}
}

// reservation is the part of the budget that one body uses.
type reservation struct {
	memory *memory
	source *source

	// memory.mu guards bytes and known.
	bytes int64
	known bool // true if the sender is verified or its address is known
}

func (m *memory) reservation(src *source, known bool) *reservation {
	return &reservation{memory: m, source: src, known: known}
}

// cover reserves the memory for a body of the given size, and reports whether it was
// available.
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

// fitsLocked is fits with memory.mu held. One source may use half of the budget. Unknown senders
// may use only a part of the budget, and of each source's half. None of these shares is smaller
// than the source's largest body.
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

// prove records that the body's sender is verified: the body no longer counts against the part
// for unknown senders.
func (r *reservation) prove() {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	if !r.known {
		r.countStranger(-r.bytes)
		r.known = true
	}
}

// release frees the complete reservation. Any goroutine may call it, even repeatedly.
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
