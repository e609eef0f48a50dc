package torture

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// FaultCount counts the strikes of one kind of fault.
type FaultCount struct {
	Kind      string
	Simulated bool
	Fired     int
	Busy      int // strikes while deliveries were in progress
	Missed    int // faults that did not strike
	// AckedLast contains the number of deliveries acknowledged in the second before each strike,
	// in ascending order.
	AckedLast []int
}

// Median returns the median of AckedLast, or 0 if the fault never struck.
func (c FaultCount) Median() int {
	if len(c.AckedLast) == 0 {
		return 0
	}
	return c.AckedLast[len(c.AckedLast)/2]
}

// faultCounts counts faults from the history as it is written.
type faultCounts struct {
	mu    sync.Mutex
	kinds map[string]*FaultCount
}

func (f *faultCounts) watch(r history.Record) {
	if r.Op != history.OpFault || r.Kind != history.Invoke && r.Kind != history.Fail {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds == nil {
		f.kinds = map[string]*FaultCount{}
	}
	count := f.kinds[r.Fault.Kind]
	if count == nil {
		count = &FaultCount{Kind: r.Fault.Kind, Simulated: r.Fault.Simulated}
		f.kinds[r.Fault.Kind] = count
	}
	if r.Kind == history.Fail {
		count.Missed++
		return
	}
	count.Fired++
	if r.Fault.InFlight > 0 {
		count.Busy++
	}
	at, _ := slices.BinarySearch(count.AckedLast, r.Fault.AckedLast)
	count.AckedLast = slices.Insert(count.AckedLast, at, r.Fault.AckedLast)
}

// all returns the counts, ordered by kind.
func (f *faultCounts) all() []FaultCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []FaultCount
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		count := *f.kinds[kind]
		count.AckedLast = slices.Clone(count.AckedLast)
		all = append(all, count)
	}
	return all
}

// Fired returns the number of strikes, and the number of kinds of faults that struck. Simulated
// faults do not count.
func Fired(counts []FaultCount) (faults, kinds int) {
	for _, c := range counts {
		if !c.Simulated && c.Fired > 0 {
			faults += c.Fired
			kinds++
		}
	}
	return faults, kinds
}

// Merge adds up the counts of several runs.
func Merge(runs ...[]FaultCount) []FaultCount {
	merged := map[string]FaultCount{}
	for _, run := range runs {
		for _, c := range run {
			m := merged[c.Kind]
			m.Kind, m.Simulated = c.Kind, c.Simulated
			m.Fired += c.Fired
			m.Busy += c.Busy
			m.Missed += c.Missed
			m.AckedLast = slices.Concat(m.AckedLast, c.AckedLast)
			slices.Sort(m.AckedLast)
			merged[c.Kind] = m
		}
	}
	return slices.SortedFunc(maps.Values(merged), func(a, b FaultCount) int { return cmp.Compare(a.Kind, b.Kind) })
}
