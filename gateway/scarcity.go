package gateway

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// Limits that decide which arriving bodies keep their slots when slots are scarce.
const (
	// scarceGrace replaces paceGrace for an unknown sender's delivery if, on arrival, more than
	// half of one of the delivery's shares is taken. An ordinary delivery's body arrives with its
	// header.
	scarceGrace = 200 * time.Millisecond
	// headStart limits the credit of a body whose bytes arrived faster than required. A sender
	// that sent much and then stops is therefore soon the slowest.
	headStart = 250 * time.Millisecond
)

// flight is one delivery in flights. flights.mu guards its fields, except connection, due and
// thrownOut.
type flight struct {
	from    origin
	cell    string       // the source's cell, or "" if all sources have one database
	network netip.Prefix // network that contains the address
	known   bool         // true if the sender is verified or its address is known to the source
	began   time.Time    // when the body began to arrive
	hurried bool         // true if scarceGrace applies, because slots are scarce

	arriving bool // true until the body is complete or evicted
	unproven bool // true while the delivery counts against its address
	placed   bool // true if the delivery has a commit slot
	awaited  bool // true while a drain waits for the delivery
	place    int  // index in flights.bodies

	// The body's reader uses these fields while another delivery may evict the body.
	connection *http.ResponseController
	due        atomic.Int64 // see dueAt; in nanoseconds after began
	thrownOut  atomic.Bool  // written under flights.mu when the body is evicted
}

// received records how much of a body has arrived, converted to time at the required rate.
func (one *flight) received(bytes int, rate int64, now time.Time) {
	earned := time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
	one.due.Store(int64(min(earned, now.Sub(one.began)+headStart)))
}

// dueAt returns the time at which the next byte is due at the required rate. The body with the
// earliest time is the slowest.
func (one *flight) dueAt() time.Time { return one.began.Add(time.Duration(one.due.Load())) }

// throwOut stops the reading of a body. A body that is already complete is still processed.
func (one *flight) throwOut() {
	one.thrownOut.Store(true)
	one.cut()
}

// cut makes the body's current read and the next read fail.
func (one *flight) cut() { _ = one.connection.SetReadDeadline(aLongTimeAgo) }

// aLongTimeAgo is a deadline that has passed on every clock.
var aLongTimeAgo = time.Unix(1, 0)

// makeRoom evicts the slowest body in each share that is full. A delivery from an unknown sender
// evicts only unknown senders' bodies. A delivery from a known sender evicts a known sender's body
// only if the share contains no body from an unknown sender. makeRoom returns admitted, or the
// reason for a refusal if no body can be evicted. f.mu is held.
func (f *flights) makeRoom(one *flight, of *sourceFlights) admission {
	for {
		share, reason := f.takenShare(one, of)
		if reason == admitted {
			return admitted
		}
		slowest := f.slowest(share, false)
		if slowest == nil && one.known {
			slowest = f.slowest(share, true)
		}
		if slowest == nil {
			return reason
		}
		f.evict(slowest)
	}
}

// evict stops the reading of a body and frees the delivery's slot. f.mu is held.
func (f *flights) evict(one *flight) {
	f.arrived(one)
	f.forgetUnproven(one)
	one.throwOut()
}

// evictArriving evicts all bodies that are still arriving.
func (f *flights) evictArriving() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.bodies) > 0 {
		f.evict(f.bodies[len(f.bodies)-1])
	}
}

// takenShare finds a share that is full. It returns a function that reports whether a body is in
// that share, and the reason for a refusal. If no share is full, it returns nil and admitted.
func (f *flights) takenShare(one *flight, of *sourceFlights) (inShare func(*flight) bool, reason admission) {
	address := one.from.address
	switch {
	case address.IsValid() && f.byOrigin[one.from] >= half(f.limits.perAddress):
		return func(other *flight) bool { return other.from == one.from }, refusedAddress
	case address.IsValid() && f.byAddress[address] >= f.limits.perAddress:
		return func(other *flight) bool { return other.from.address == address }, refusedAddress
	case address.IsValid() && !one.known && f.byNetwork[one.network] >= 2*f.limits.perAddress:
		return func(other *flight) bool { return other.network == one.network }, refusedNetwork
	case of.arriving.full(half(f.limits.arriving), one.known):
		return func(other *flight) bool { return other.from.source == one.from.source }, refusedSource
	case f.arriving.full(f.limits.arriving, one.known):
		return func(*flight) bool { return true }, refusedFull
	}
	return nil, admitted
}

// slowest returns the slowest body in a share, or nil. If known is true, slowest considers only
// bodies of known senders. If known is false, it considers only bodies of unknown senders.
func (f *flights) slowest(inShare func(*flight) bool, known bool) (slowest *flight) {
	var due time.Time
	for _, other := range f.bodies {
		if other.known != known || !inShare(other) {
			continue
		}
		if at := other.dueAt(); slowest == nil || at.Before(due) {
			slowest, due = other, at
		}
	}
	return slowest
}

// crowded reports whether any share that a delivery belongs to is more than half full.
func (f *flights) crowded(one *flight, of *sourceFlights) bool {
	return f.arriving.crowded(f.limits.arriving) || of.arriving.crowded(half(f.limits.arriving)) ||
		one.from.address.IsValid() && (f.byAddress[one.from.address] > f.limits.perAddress/2 ||
			f.byOrigin[one.from] > half(f.limits.perAddress)/2 || f.byNetwork[one.network] > f.limits.perAddress)
}
