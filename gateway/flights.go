package gateway

import (
	"net/netip"
	"sync"

	"github.com/hooklatch/hooklatch/internal/strangers"
)

// admission is the answer to a delivery that asks for a place: admitted, or the reason
// why not.
type admission string

const (
	admitted        admission = ""
	refusedFull     admission = "overload"
	refusedSource   admission = "overload_source"
	refusedAddress  admission = "overload_address"
	refusedNetwork  admission = "overload_network"
	refusedDraining admission = "shutting_down"
)

// flightLimits is how many deliveries there may be at once, in each of two stages.
type flightLimits struct {
	arriving  int // whose bodies are being read
	all       int // whose bodies are whole: they are proven, committed and answered
	perSource int // of all
	// perAddress bounds those of one address in both stages, until their sender is proven.
	// One source may take half of them: behind a proxy that is not configured all
	// senders have one address, and then one of them can hold up one source only. A
	// network of strangers may take twice as many.
	perAddress int
}

// origin is where a delivery goes and where it comes from.
type origin struct {
	source  string
	address netip.Prefix // see addressOf; the zero value has no limit
}

// flights counts deliveries in two stages, and bounds each. A delivery whose body is
// still arriving costs memory and a connection. It takes one of the places of a commit
// once its body is whole: such a place is free again within milliseconds, whatever the
// sender does. In each stage strangers may have a part, and the rest is for known
// addresses. Where there is no room for a delivery that begins to arrive, the slowest
// one that is not proven ends for it.
//
// One mutex keeps counts and draining together: once a drain has begun, none is admitted.
type flights struct {
	underway sync.WaitGroup // of the deliveries that are counted

	mu        sync.Mutex
	limits    flightLimits
	count     int
	arriving  stage
	placed    stage
	bySource  map[string]*sourceFlights // no more than there are sources
	byAddress map[netip.Prefix]int      // not proven yet
	byNetwork map[netip.Prefix]int      // of strangers, not proven yet
	byOrigin  map[origin]int            // not proven yet
	bodies    []*flight                 // those that are arriving
	draining  bool
}

// stage counts the deliveries of one stage. A delivery of a stranger that is proven
// is no longer one of a stranger.
type stage struct{ all, strangers int }

// full reports whether a stage of so many places has none for a delivery.
func (s *stage) full(limit int, known bool) bool {
	return s.all >= limit || !known && s.strangers >= strangers.Part(limit)
}

// crowded reports whether more than half of the places are taken.
func (s *stage) crowded(limit int) bool { return s.all > limit/2 }

func (s *stage) add(n int, known bool) {
	s.all += n
	if !known {
		s.strangers += n
	}
}

// sourceFlights are the stages of one source.
type sourceFlights struct{ arriving, placed stage }

func newFlights(limits flightLimits) *flights {
	return &flights{
		limits:    limits,
		bySource:  make(map[string]*sourceFlights),
		byAddress: make(map[netip.Prefix]int),
		byNetwork: make(map[netip.Prefix]int),
		byOrigin:  make(map[origin]int),
	}
}

func (f *flights) of(source string) *sourceFlights {
	of := f.bySource[source]
	if of == nil {
		of = new(sourceFlights)
		f.bySource[source] = of
	}
	return of
}

// arrive admits a delivery whose body is read next. It must be followed by leave when it
// returns admitted.
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
	one.arriving, one.unproven = true, true
	f.bodies = append(f.bodies, one)
	return admitted
}

// place takes a place of a commit for a delivery whose body is whole.
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
	}
	one.placed = true
	f.placed.add(1, one.known)
	of.placed.add(1, one.known)
	return admitted
}

// prove gives back what a delivery took of its address, and of what strangers may have:
// its sender is known from now on.
func (f *flights) prove(one *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetUnproven(one)
	if one.placed && !one.known {
		f.placed.strangers--
		f.of(one.from.source).placed.strangers--
	}
	one.known = true
}

func (f *flights) leave(one *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arrived(one)
	f.forgetUnproven(one)
	if one.placed {
		f.placed.add(-1, one.known)
		f.of(one.from.source).placed.add(-1, one.known)
	}
	f.count--
	f.underway.Done()
}

// arrived ends the first stage of a delivery, unless it was thrown out of it.
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

// count keeps a map as small as what it counts: its keys are a stranger's choice.
func count[K comparable, N int | int64](counts map[K]N, key K, n N) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

// half is what one may take where none may take all, and never nothing.
func half[N int | int64](n N) N { return (n + 1) / 2 }

// close refuses all from now on, so that underway comes to its end.
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
