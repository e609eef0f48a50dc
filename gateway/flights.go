package gateway

import (
	"net/netip"
	"sync"
)

// admission is the result of a request for a slot: admitted, or the reason for the refusal.
type admission string

const (
	admitted        admission = ""
	refusedFull     admission = "overload"
	refusedSource   admission = "overload_source"
	refusedCell     admission = "overload_cell"
	refusedAddress  admission = "overload_address"
	refusedNetwork  admission = "overload_network"
	refusedDraining admission = "shutting_down"
)

// flightLimits limit the simultaneous deliveries in each of two stages.
type flightLimits struct {
	arriving  int // deliveries whose bodies are being read
	all       int // deliveries with complete bodies, which are verified and committed
	perSource int // commit slots that one source may use
	perCell   int // commit slots that the sources of one cell may use together
	// perAddress limits an address's deliveries in both stages until their sender is verified. An
	// address may use half of this number for one source. Behind an unconfigured proxy, all senders
	// share one address, and the senders of one source must not block the other sources. A network
	// of unknown senders may use twice this number.
	perAddress int
}

// origin is a delivery's source and client address.
type origin struct {
	source  string
	address netip.Prefix // see addressOf; the zero value is not limited
}

// flights counts and limits deliveries in two stages. While its body arrives, a delivery costs
// memory and a connection. Once the body is complete, the delivery takes a commit slot. The slot is
// free again before the response is written, so that a slow sender cannot hold it. Unknown senders
// may use only a part of each stage; the rest is reserved for known addresses. If the first stage
// has no free slot for a new delivery, flights evicts a slow body that is still arriving: see
// makeRoom.
//
// One mutex guards the counts and the drain state together: once a drain has begun, no
// delivery is admitted.
type flights struct {
	underway sync.WaitGroup // counts the admitted deliveries for which a drain waits

	mu        sync.Mutex
	limits    flightLimits
	count     int
	arriving  stage
	placed    stage
	bySource  map[string]*sourceFlights // at most one entry per source
	byCell    map[string]*stage         // commit slots; at most one entry per cell
	byAddress map[netip.Prefix]int      // unverified deliveries
	byNetwork map[netip.Prefix]int      // unverified deliveries from unknown senders
	byOrigin  map[origin]int            // unverified deliveries
	bodies    []*flight                 // the deliveries whose body is arriving
	draining  bool
}

func newFlights(limits flightLimits) *flights {
	return &flights{
		limits:    limits,
		bySource:  make(map[string]*sourceFlights),
		byCell:    make(map[string]*stage),
		byAddress: make(map[netip.Prefix]int),
		byNetwork: make(map[netip.Prefix]int),
		byOrigin:  make(map[origin]int),
	}
}

// arrive admits a delivery before its body is read. If arrive returns admitted, the caller must
// call leave later.
func (f *flights) arrive(one *flight) admission {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.of(one.from.source)
	switch {
	case f.draining:
		return refusedDraining
	case f.placed.all >= f.limits.all:
		return refusedFull
	case of.placed.all >= f.limits.perSource:
		return refusedSource
	}
	if reason := f.makeRoom(one, of); reason != admitted {
		return reason
	}
	if !one.known {
		one.hurried = f.crowded(one, of)
	}
	f.count++
	f.underway.Add(1)
	f.countUnproven(one, 1)
	f.arriving.add(1, one.known)
	of.arriving.add(1, one.known)
	one.place = len(f.bodies)
	one.arriving, one.unproven, one.awaited = true, true, true
	f.bodies = append(f.bodies, one)
	return admitted
}

// place takes a commit slot for a delivery whose body is complete.
func (f *flights) place(one *flight) admission {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arrived(one)
	of := f.of(one.from.source)
	switch {
	case f.placed.full(f.limits.all, one.known):
		return refusedFull
	case of.placed.full(f.limits.perSource, one.known):
		return refusedSource
	case one.cell != "" && f.ofCell(one.cell).full(f.limits.perCell, one.known):
		return refusedCell
	}
	one.placed = true
	for _, s := range f.placesOf(one) {
		s.add(1, one.known)
	}
	return admitted
}

// prove records that a delivery's sender is verified. The delivery no longer counts against its
// address or among unknown senders.
func (f *flights) prove(one *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetUnproven(one)
	if one.placed && !one.known {
		for _, s := range f.placesOf(one) {
			s.strangers--
		}
	}
	one.known = true
}

func (f *flights) leave(one *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arrived(one)
	f.forgetUnproven(one)
	f.displace(one)
	f.count--
	f.finish(one)
}

// arrived ends a delivery's first stage, if it has not ended yet. The stage ends once: when the
// body is complete, when the body is evicted, or when the delivery leaves.
func (f *flights) arrived(one *flight) {
	if !one.arriving {
		return
	}
	one.arriving = false
	last := f.bodies[len(f.bodies)-1]
	f.bodies[one.place], last.place = last, one.place
	f.bodies[len(f.bodies)-1] = nil
	f.bodies = f.bodies[:len(f.bodies)-1]
	f.arriving.add(-1, one.known)
	f.of(one.from.source).arriving.add(-1, one.known)
}

func (f *flights) forgetUnproven(one *flight) {
	if one.unproven {
		one.unproven = false
		f.countUnproven(one, -1)
	}
}

func (f *flights) countUnproven(one *flight, n int) {
	if !one.from.address.IsValid() {
		return
	}
	count(f.byAddress, one.from.address, n)
	count(f.byOrigin, one.from, n)
	if !one.known {
		count(f.byNetwork, one.network, n)
	}
}

// count adds n to a counter and deletes the counter at 0. Unknown senders determine which addresses
// are keys, so a map must not outgrow the deliveries that it counts.
func count[K comparable, N int | int64](counts map[K]N, key K, n N) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

// half returns half of a limit, rounded up.
func half[N int | int64](n N) N { return (n + 1) / 2 }

// close makes arrive refuse all later deliveries, so that underway reaches zero.
func (f *flights) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.draining = true
}

func (f *flights) inFlight() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(f.count)
}
