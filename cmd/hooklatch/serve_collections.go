package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// roomyHeap is how far the heap may grow before it is collected, however little of
// it is in use. A process of ours has 10 to 20 MiB in use, and accepting an event
// allocates some 25 KiB: collected each time that doubles the heap, a gateway
// under load spends an eighth of its CPU on it. From half of roomyHeap in use the
// rule is Go's own, so that large bodies do not cost more memory than before.
const roomyHeap = 64 << 20

// The percentages between which the collector is set: Go's own, and one that
// keeps a heap that was nearly empty from growing without end when it fills.
const (
	usualPercent = 100
	mostPercent  = 800
)

// restAfter is how long no collection was needed when the process counts as at
// rest, and gives back what a burst left behind: the heap, and the larger half of
// the stack that a connection needed for its last request.
const restAfter = 5 * time.Second

// collections sets how far the heap may grow, anew after each collection. It is safe for
// concurrent use.
type collections struct {
	roomy     uint64 // bytes
	rest      *time.Timer
	automatic uint64 // collections that the runtime began

	mu      sync.Mutex
	percent int // as it is set
}

// spareCollections lets the heap grow to roomyHeap before it is collected, or to a
// quarter of the memory limit where that is less. GOGC goes before it.
func spareCollections(limit int64) *collections {
	roomy := uint64(roomyHeap)
	if limit > 0 {
		roomy = min(roomy, uint64(limit)/4)
	}
	c := &collections{roomy: roomy, percent: usualPercent, rest: time.AfterFunc(restAfter, debug.FreeOSMemory)}
	c.adjust()
	return c
}

// expectMuch has the next collection come as usual. How far the heap grows until it
// comes is decided by what was in use at the last one: bodies that come all at once
// would fill many times as much before that was known.
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
	// An object that nobody holds is gone after the next collection.
	runtime.AddCleanup(new(*collections), func(c *collections) { c.adjust() }, c)
}

// awaitRest begins to wait anew after a collection that the runtime began. The one
// that gives memory back is forced, and is not to follow itself.
func (c *collections) awaitRest(automatic uint64) {
	if automatic != c.automatic {
		c.automatic = automatic
		c.rest.Reset(restAfter)
	}
}

// percentFor is by how much, in tens of percent, the heap may grow over what is
// live in it.
func percentFor(live, roomy uint64) int {
	if live == 0 {
		return usualPercent // there was no collection yet
	}
	percent := int(min(100*(roomy-min(live, roomy))/live, mostPercent))
	return max(percent/10*10, usualPercent)
}
