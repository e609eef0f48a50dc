package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// roomyHeap is the heap size up to which no collection runs, unless a nearly empty heap reaches the
// limit of mostPercent first. A process has 10 to 20 MiB in use, and accepting an event allocates
// some 25 KiB. If each doubling of the heap caused a collection, a gateway under load would spend
// an eighth of its CPU on collections. Once half of roomyHeap is in use, Go's own rule applies, so
// that large bodies do not cost more memory.
const roomyHeap = 64 << 20

// usualPercent is Go's default percentage. mostPercent is the maximum, which limits how far a
// nearly empty heap can grow.
const (
	usualPercent = 100
	mostPercent  = 800
)

// restAfter is the time without a collection after which the process counts as idle. The process
// then returns the memory of a burst to the system: the heap, and half of the stack that a
// connection needed for its last request.
const restAfter = 5 * time.Second

// collections sets the maximum growth of the heap anew after each garbage collection. It is safe
// for concurrent use.
type collections struct {
	roomy     uint64 // in bytes
	rest      *time.Timer
	automatic uint64 // collections that the runtime started

	mu      sync.Mutex
	percent int // current setting
}

// spareCollections lets the heap grow to roomyHeap before a collection, or to a quarter of the
// memory limit if that is less. spareCollections is not called if GOGC is set.
func spareCollections(limit int64) *collections {
	roomy := uint64(roomyHeap)
	if limit > 0 {
		roomy = min(roomy, uint64(limit)/4)
	}
	c := &collections{roomy: roomy, percent: usualPercent, rest: time.AfterFunc(restAfter, debug.FreeOSMemory)}
	c.adjust()
	return c
}

// expectMuch lets the heap grow only by Go's default until the next collection. The allowed growth
// is a percentage of the heap that was in use at the last collection. With a higher percentage,
// large bodies that arrive simultaneously could fill several times that heap before the next
// collection.
func (c *collections) expectMuch() {
	if c != nil {
		c.set(usualPercent)
	}
}

func (c *collections) set(percent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if percent != c.percent {
		debug.SetGCPercent(percent)
		c.percent = percent
	}
}

func (c *collections) adjust() {
	read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(read)
	c.set(percentFor(read[0].Value.Uint64(), c.roomy))
	c.awaitRest(read[1].Value.Uint64())
	// The cleanup of an unreachable object runs after the next collection.
	runtime.AddCleanup(new(*collections), func(c *collections) { c.adjust() }, c)
}

// awaitRest restarts the wait after a collection that the runtime started. The collection that
// returns memory is forced, and must not cause another forced collection.
func (c *collections) awaitRest(automatic uint64) {
	if automatic != c.automatic {
		c.automatic = automatic
		c.rest.Reset(restAfter)
	}
}

// percentFor returns the percentage by which the heap may grow beyond its live part, in steps of
// ten.
func percentFor(live, roomy uint64) int {
	if live == 0 {
		return usualPercent // no collection has happened yet
	}
	percent := int(min(100*(roomy-min(live, roomy))/live, mostPercent))
	return max(percent/10*10, usualPercent)
}
