package torture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// Gap is the longest time without an accepted delivery around one fault.
type Gap struct {
	Fault string
	For   time.Duration
}

// availability reads the history as it is written. It measures the longest time without an accepted
// delivery around each fault, and lists the processes that exited unexpectedly. With several
// gateways a gap ends when any of them accepts again.
type availability struct {
	mu       sync.Mutex
	accepted int64 // time of the last accepted delivery, in microseconds since the run began
	current  map[int64]*currentGap
	gaps     []Gap
	crashes  []string // names of the processes that exited unexpectedly
}

// currentGap is the gap around a fault, until a delivery is accepted after the fault has healed.
type currentGap struct {
	Gap

	healed bool
}

func (a *availability) watch(r history.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case r.Op == history.OpFault && r.Kind == history.Invoke:
		if a.current == nil {
			a.current = map[int64]*currentGap{}
		}
		a.current[r.ID] = &currentGap{Gap: Gap{Fault: r.Fault.Kind}}
	case r.Op == history.OpFault && a.current[r.ID] != nil:
		a.current[r.ID].healed = true
	case r.Op == history.OpDeliver && r.Kind == history.OK && r.Delivery.Result == resultAccepted:
		for id, gap := range a.current {
			gap.For = max(gap.For, time.Duration(r.At-a.accepted)*time.Microsecond)
			if gap.healed {
				a.gaps = append(a.gaps, gap.Gap)
				delete(a.current, id)
			}
		}
		a.accepted = r.At
	case r.Op == history.OpProcess && r.Process != nil && !r.Process.Started && !r.Process.Ordered:
		a.crashes = append(a.crashes, r.Process.Name)
	}
}

// resultAccepted is the result of a delivery whose event is new.
const resultAccepted = "accepted"

// all returns the gaps around the faults that have healed, and the processes that exited
// unexpectedly.
func (a *availability) all() ([]Gap, []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.gaps), slices.Clone(a.crashes)
}

// gapTable formats the times without accepted deliveries for each kind of fault.
func gapTable(all []Gap) string {
	byFault := map[string][]time.Duration{}
	for _, gap := range all {
		byFault[gap.Fault] = append(byFault[gap.Fault], gap.For)
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "faults\twithout accepted deliveries: min\tmedian\tmax\t fault") // a strings.Builder accepts all writes
	for _, fault := range slices.Sorted(maps.Keys(byFault)) {
		times := byFault[fault]
		slices.SortFunc(times, cmp.Compare[time.Duration])
		_, _ = fmt.Fprintf(t, "%d\t%s\t%s\t%s\t %s\n", len(times), tenths(times[0]), tenths(times[len(times)/2]), tenths(times[len(times)-1]), fault)
	}
	_ = t.Flush()
	b.WriteByte('\n')
	return b.String()
}

func tenths(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
