package hooktest

import (
	"fmt"
	"slices"
	"strings"
)

// Trouble is one way in which a trial repeats, interrupts or reorders deliveries and handlers.
type Trouble string

// The troubles, in the order in which they are tried.
const (
	// TwiceAtOnce delivers the event four times in parallel, and runs the handler twice in
	// parallel. This happens when a process is cut off and presumed dead, but continues. The
	// cut-off run's writes with tx are rolled back. Its other work remains.
	TwiceAtOnce Trouble = "twice at once"
	// Crashed cancels the handler after its first statement, then after its second statement,
	// and so on. Finally the handler succeeds, and the connection is lost before the COMMIT.
	// Each time, writes with tx are rolled back, and the handler runs again.
	Crashed Trouble = "crashed"
	// TwoIDs delivers the same fact under two ids in parallel. That happens if two endpoints
	// of the provider lead to one source, or if two of its event types announce the same fact.
	// Both deliveries are handled and committed.
	TwoIDs Trouble = "two ids"
	// Replayed replays the event after it was handled, as `hooklatch events replay` does.
	Replayed Trouble = "replayed"
	// Late replays the older events after all events were handled.
	Late Trouble = "late"
	// Shuffled delivers the events in orders other than their real order.
	Shuffled Trouble = "shuffled"
	// AllAtOnce delivers all events simultaneously, and they are handled in parallel.
	AllAtOnce Trouble = "all at once"
)

// Troubles returns all troubles.
func Troubles() []Trouble {
	return []Trouble{TwiceAtOnce, Crashed, TwoIDs, Replayed, Late, Shuffled, AllAtOnce}
}

// plan is one trial: a list of steps. Each step begins when all events of the previous step
// have been handled.
type plan struct {
	trouble Trouble
	story   string // story for the finding
	steps   []step
	disturb disturbance
}

// step is a set of events delivered or replayed at one time.
type step struct {
	events []Event
	times  int    // number of parallel deliveries of each event; 0 counts as 1
	also   string // suffix of a second id under which each event is also delivered
	replay bool   // if true, events are replayed instead of delivered
}

// disturbance changes the first run of each event.
type disturbance int

const (
	none     disturbance = iota
	doubled              // the handler runs twice in parallel, and one run is rolled back
	crashing             // the handler is rolled back at each point of interruption
)

// asSecond is the suffix of an event's second id, if the event is delivered under two ids.
const asSecond = "-again"

// deliveries is the number of parallel deliveries of each event for TwiceAtOnce.
const deliveries = 4

// plans returns all trials of a case.
func (c Case) plans() []plan {
	var plans []plan
	add := func(trouble Trouble, story string, steps []step, disturb disturbance) {
		if !slices.Contains(c.Without, trouble) {
			plans = append(plans, plan{trouble, story, steps, disturb})
		}
	}
	const each = "each event "
	add(TwiceAtOnce, each+"arrived four times in parallel and ran twice in parallel; one run was rolled back",
		eachWith(c.Events, step{times: deliveries}), doubled)
	add(Crashed, each+"was interrupted after every statement, and once between its end and the COMMIT; then it ran again",
		inOrder(c.Events), crashing)
	add(TwoIDs, each+"arrived under two ids in parallel", eachWith(c.Events, step{also: asSecond}), none)
	var replays []step
	for _, e := range c.Events {
		replays = append(replays, step{events: []Event{e}}, step{events: []Event{e}, replay: true})
	}
	add(Replayed, each+"was handled, and replayed right afterwards", replays, none)
	if len(c.Events) == 1 {
		return plans
	}
	older := slices.Clone(c.Events[:len(c.Events)-1])
	slices.Reverse(older)
	late := inOrder(c.Events)
	for _, e := range older {
		late = append(late, step{events: []Event{e}, replay: true})
	}
	add(Late, fmt.Sprintf("all events were handled in order, and then replayed: %s", ids(older)), late, none)
	for _, order := range orders(c.Events) {
		add(Shuffled, "the events arrived in the order "+ids(order), inOrder(order), none)
	}
	add(AllAtOnce, "all events arrived and were handled simultaneously", []step{{events: c.Events}}, none)
	return plans
}

// inOrder returns steps that deliver one event after another.
func inOrder(events []Event) []step { return eachWith(events, step{}) }

func eachWith(events []Event, s step) []step {
	var steps []step
	for _, e := range events {
		s.events = []Event{e}
		steps = append(steps, s)
	}
	return steps
}

// orders returns the other orders to try: one for each swap of two neighbours, and the reverse
// order. A handler that withstands these orders withstands every order, unless it compares more
// than two events. No handler should do that.
func orders(events []Event) [][]Event {
	var found [][]Event
	for i := range len(events) - 1 {
		order := slices.Clone(events)
		order[i], order[i+1] = order[i+1], order[i]
		found = append(found, order)
	}
	if len(events) > 2 {
		order := slices.Clone(events)
		slices.Reverse(order)
		found = append(found, order)
	}
	return found
}

func ids(events []Event) string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = e.ID
	}
	return strings.Join(list, ", ")
}
