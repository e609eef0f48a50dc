package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

// collections sets how far the heap may grow, anew after each collection.
type collections struct {
	roomy   uint64 // bytes
	percent int    // as it is set
}

// spareCollections lets the heap grow to roomyHeap before it is collected, or to a
// quarter of the memory limit where that is less. GOGC goes before it.
func spareCollections(limit int64) {
	roomy := uint64(roomyHeap)
	if limit > 0 {
		roomy = min(roomy, uint64(limit)/4)
	}
	(&collections{roomy: roomy, percent: usualPercent}).adjust()
}

func (c *collections) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if wanted := percentFor(live[0].Value.Uint64(), c.roomy); wanted != c.percent {
		debug.SetGCPercent(wanted)
		c.percent = wanted
	}
	// An object that nobody holds is gone after the next collection.
	runtime.AddCleanup(new(*collections), func(c *collections) { c.adjust() }, c)
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
