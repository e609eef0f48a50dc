package gateway

import (
	"net/netip"
	"sync"
)

// admission is the answer to a delivery that wants to be read: admitted, or
// the reason why not.
type admission string

const (
	admitted        admission = ""
	refusedFull     admission = "overload"
	refusedSource   admission = "overload_source"
	refusedAddress  admission = "overload_address"
	refusedDraining admission = "shutting_down"
)

// flightLimits is how many deliveries there may be at once.
type flightLimits struct {
	all       int
	perSource int
	// perAddress bounds those of one address whose sender is not proven yet.
	// One source may take half of them: behind a proxy that is not configured all
	// senders have one address, and then one of them can hold up one source only.
	perAddress int
}

// origin is where a delivery goes and where it comes from.
type origin struct {
	source  string
	address netip.Prefix // see addressOf; the zero value has no limit
}

// flights counts the deliveries that are being read, committed or answered,
// and bounds them. A mutex keeps counts and draining together: once a drain has
// begun, none is admitted.
type flights struct {
	underway sync.WaitGroup // of the deliveries that are counted

	mu        sync.Mutex
	limits    flightLimits
	count     int
	bySource  map[string]int
	byAddress map[netip.Prefix]int // not proven yet
	byOrigin  map[origin]int       // not proven yet
	draining  bool
}

func newFlights(limits flightLimits) *flights {
	return &flights{
		limits:    limits,
		bySource:  make(map[string]int),
		byAddress: make(map[netip.Prefix]int),
		byOrigin:  make(map[origin]int),
	}
}

// enter must be followed by leave when it returns admitted.
func (f *flights) enter(from origin) admission {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.draining:
		return refusedDraining
	case f.count >= f.limits.all:
		return refusedFull
	case f.bySource[from.source] >= f.limits.perSource:
		return refusedSource
	case f.byAddress[from.address] >= f.limits.perAddress, f.byOrigin[from] >= half(f.limits.perAddress):
		return refusedAddress
	}
	f.count++
	f.underway.Add(1)
	f.bySource[from.source]++
	if from.address.IsValid() {
		f.byAddress[from.address]++
		f.byOrigin[from]++
	}
	return admitted
}

// prove gives back what a delivery took of its address: its sender is known
// from now on. It is called once, before leave.
func (f *flights) prove(from origin) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgetAddress(from)
}

func (f *flights) leave(from origin, proven bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !proven {
		f.forgetAddress(from)
	}
	decrement(f.bySource, from.source)
	f.count--
	f.underway.Done()
}

func (f *flights) forgetAddress(from origin) {
	if from.address.IsValid() {
		decrement(f.byAddress, from.address)
		decrement(f.byOrigin, from)
	}
}

// decrement keeps a map as small as what it counts: its keys are a stranger's
// choice.
func decrement[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
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
