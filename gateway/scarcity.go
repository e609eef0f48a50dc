package gateway

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// Limits by which a body keeps its place among the arriving ones when places are scarce.
const (
	// scarceGrace replaces paceGrace for strangers while more than half of a share is
	// taken. The body of an ordinary delivery arrives with its header.
	scarceGrace = 200 * time.Millisecond
	// headStart is how far ahead of the others a body's bytes may carry it. A sender that
	// sent much and then stops is soon the slowest.
	headStart = 250 * time.Millisecond
)

// flight is one delivery in flights. flights.mu guards its fields, except those that its
// reader writes.
type flight struct {
	from    origin
	network netip.Prefix // around the address
	known   bool         // whether deliveries from there were proven before
	began   time.Time    // when its body began to arrive
	hurried bool         // whether it has scarceGrace, because places are scarce

	arriving bool // and is not evicted
	unproven bool // and counts against its address
	placed   bool // has a commit place
	place    int  // index in flights.bodies

	// Written by the reader of the body.
	connection *http.ResponseController
	due        atomic.Int64 // see dueAt; in nanoseconds after began
	thrownOut  atomic.Bool  // written under flights.mu
}

// received records how much of a body has arrived, at the required rate.
func (one *flight) received(bytes int, rate int64, now time.Time) {
	earned := time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
	one.due.Store(int64(min(earned, now.Sub(one.began)+headStart)))
}

// dueAt is when the bytes received so far are used up at the required rate. The body with
// the earliest time is the slowest.
func (one *flight) dueAt() time.Time { return one.began.Add(time.Duration(one.due.Load())) }

// throwOut ends the reading of a body. A body that is complete by then is still processed.
func (one *flight) throwOut() {
	one.thrownOut.Store(true)
	one.cut()
}

// cut makes the current read of the body, and the next one, fail.
func (one *flight) cut() { _ = one.connection.SetReadDeadline(aLongTimeAgo) }

// aLongTimeAgo is a deadline that has passed by every clock.
var aLongTimeAgo = time.Unix(1, 0)

// makeRoom evicts the slowest body of each share that has no room for a delivery. A
// stranger evicts strangers only. A known sender evicts another known one only if no
// stranger is in the share.
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
		f.arrived(slowest)
		f.forgetUnproven(slowest)
		slowest.throwOut()
	}
}

// takenShare finds a share that has no room for a delivery. It returns a test for the
// bodies in that share, and the reason for a refusal.
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

// slowest finds the body of a share that is furthest behind, among strangers or among known
// addresses.
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

// crowded reports whether more than half of any share of a delivery is taken.
func (f *flights) crowded(one *flight, of *sourceFlights) bool {
	return f.arriving.crowded(f.limits.arriving) || of.arriving.crowded(half(f.limits.arriving)) ||
		one.from.address.IsValid() && (f.byAddress[one.from.address] > f.limits.perAddress/2 ||
			f.byOrigin[one.from] > half(f.limits.perAddress)/2 || f.byNetwork[one.network] > f.limits.perAddress)
}
