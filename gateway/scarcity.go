package gateway

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// How a body keeps its place among those that arrive, once places are scarce.
const (
	// scarceGrace replaces paceGrace for strangers while more than half of a share is
	// taken. The body of an ordinary delivery comes with its header.
	scarceGrace = 200 * time.Millisecond
	// headStart is how far the bytes of a body carry it ahead of the others: a sender
	// that sent much and then nothing is soon the slowest.
	headStart = 250 * time.Millisecond
)

// flight is one delivery in flights. Its fields are guarded by flights.mu, but for those
// that its reader writes.
type flight struct {
	from    origin
	network netip.Prefix // around the address
	known   bool         // deliveries from there were proven before
	began   time.Time    // when its body began to arrive
	hurried bool         // it has scarceGrace, since places are scarce

	arriving bool // and is not thrown out
	unproven bool // and counts against its address
	placed   bool // has a place of a commit
	place    int  // in flights.bodies

	// written by the reader of the body
	connection *http.ResponseController
	due        atomic.Int64 // see behind; in nanoseconds after began
	thrownOut  atomic.Bool  // written under flights.mu
}

// received notes how much of a body has come, at the rate that is asked for.
func (one *flight) received(bytes int, rate int64, now time.Time) {
	earned := time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
	one.due.Store(int64(min(earned, now.Sub(one.began)+headStart)))
}

// dueAt is when the bytes of a body that has come are used up at the rate that is asked
// for. The body with the earliest time is the slowest.
func (one *flight) dueAt() time.Time { return one.began.Add(time.Duration(one.due.Load())) }

// throwOut ends the reading of a body. A body that is whole in spite of that goes on.
func (one *flight) throwOut() {
	one.thrownOut.Store(true)
	one.cut()
}

// cut has the read of the body that waits, and the next one, fail.
func (one *flight) cut() { _ = one.connection.SetReadDeadline(aLongTimeAgo) }

// aLongTimeAgo is a deadline that has passed by every clock.
var aLongTimeAgo = time.Unix(1, 0)

// makeRoom throws out the slowest body of each share that has no room for a delivery. A
// stranger's takes the place of a stranger's only; a known sender's takes a known one's
// where no stranger has any.
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

// takenShare finds a share that has no room for a delivery: the bodies that are in it,
// and the reason that says so.
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

// slowest finds the body of a share that is furthest behind: of strangers, or of known
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

// crowded reports whether more than half of a share of a delivery is taken.
func (f *flights) crowded(one *flight, of *sourceFlights) bool {
	return f.arriving.crowded(f.limits.arriving) || of.arriving.crowded(half(f.limits.arriving)) ||
		one.from.address.IsValid() && (f.byAddress[one.from.address] > f.limits.perAddress/2 ||
			f.byOrigin[one.from] > half(f.limits.perAddress)/2 || f.byNetwork[one.network] > f.limits.perAddress)
}
