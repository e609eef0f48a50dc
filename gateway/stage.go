package gateway

import "github.com/hooklatch/hooklatch/internal/strangers"

// stage counts the deliveries in one stage. An unknown sender's delivery counts among
// strangers only until it is verified.
type stage struct{ all, strangers int }

// full reports whether a stage with limit slots has no free slot for a delivery. If known is true,
// the delivery comes from a known sender.
func (s *stage) full(limit int, known bool) bool {
	return s.all >= limit || !known && s.strangers >= strangers.Part(limit)
}

// crowded reports whether more than half of the slots are taken.
func (s *stage) crowded(limit int) bool { return s.all > limit/2 }

func (s *stage) add(n int, known bool) {
	s.all += n
	if !known {
		s.strangers += n
	}
}

// sourceFlights holds both stages of one source.
type sourceFlights struct{ arriving, placed stage }

func (f *flights) of(source string) *sourceFlights {
	of := f.bySource[source]
	if of == nil {
		of = new(sourceFlights)
		f.bySource[source] = of
	}
	return of
}

// ofCell returns the count of a cell's used commit slots.
func (f *flights) ofCell(cell string) *stage {
	of := f.byCell[cell]
	if of == nil {
		of = new(stage)
		f.byCell[cell] = of
	}
	return of
}

// placesOf returns all counts of used commit slots that include the delivery's slot.
func (f *flights) placesOf(one *flight) [3]*stage {
	return [3]*stage{&f.placed, &f.of(one.from.source).placed, f.ofCell(one.cell)}
}

// decided frees the commit slot of a delivery whose response is known. The sender determines how
// long it takes to write the response, so an unverified delivery still counts against the sender's
// address. If only the response is left, a drain no longer waits for the delivery.
func (f *flights) decided(one *flight, onlyResponse bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.displace(one)
	if onlyResponse {
		f.finish(one)
	}
}

// finish makes a drain stop waiting for a delivery. It may be called repeatedly.
func (f *flights) finish(one *flight) {
	if one.awaited {
		one.awaited = false
		f.underway.Done()
	}
}

func (f *flights) displace(one *flight) {
	if !one.placed {
		return
	}
	one.placed = false
	for _, s := range f.placesOf(one) {
		s.add(-1, one.known)
	}
}
