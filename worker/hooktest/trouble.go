package hooktest

import (
	"fmt"
	"slices"
	"strings"
)

// Trouble is something that happens to events and their handlers.
type Trouble string

// The troubles, in the order in which they are tried.
const (
	// TwiceAtOnce: the provider delivers the event four times in parallel, and the
	// handler runs twice in parallel, as it does when a process was cut off and
	// taken for dead. What the run that was cut off wrote with tx is rolled back.
	// What it did by other ways stays.
	TwiceAtOnce Trouble = "twice at once"
	// Crashed: the handler is cancelled after its first statement, then after its
	// second and so on; then it succeeds, and the connection is lost before the
	// COMMIT. Each time what it wrote with tx is rolled back, and it runs again.
	Crashed Trouble = "crashed"
	// TwoIDs: the provider delivers the same fact under two ids in parallel, as
	// happens where two of its endpoints lead to one source, or where two of its
	// types say the same. Both are handled, and committed.
	TwoIDs Trouble = "two ids"
	// Replayed: a person replays the event when it was handled, as `hooklatch
	// events replay` does.
	Replayed Trouble = "replayed"
	// Late: when all events were handled, the older ones are replayed.
	Late Trouble = "late"
	// Shuffled: the events come in other orders than that in which they happened.
	Shuffled Trouble = "shuffled"
	// AllAtOnce: all events come at the same time, and are handled in parallel.
	AllAtOnce Trouble = "all at once"
)

// Troubles are all there are.
func Troubles() []Trouble {
	return []Trouble{TwiceAtOnce, Crashed, TwoIDs, Replayed, Late, Shuffled, AllAtOnce}
}

// plan is one trial: what is done step by step, each when what the step before
// began has been handled.
type plan struct {
	trouble Trouble
	story   string // what happens, for the finding
	steps   []step
	disturb disturbance
}

// step is what happens at one time.
type step struct {
	events []Event
	times  int    // each is delivered in parallel; 0 counts as 1
	also   string // they come a second time, their ids with this behind them
	replay bool   // they are not delivered, but replayed
}

// disturbance is what happens to the first run of each event.
type disturbance int

const (
	none     disturbance = iota
	doubled              // it runs twice in parallel, and one of them is rolled back
	crashing             // it is rolled back at each place
)

// asSecond is behind the id of an event that comes under two.
const asSecond = "-again"

// deliveries is how often one event comes in parallel.
const deliveries = 4

// plans are all the trials of a case.
func (c Case) plans() []plan {
	var plans []plan
	add := func(trouble Trouble, story string, steps []step, disturb disturbance) {
		if !slices.Contains(c.Without, trouble) {
			plans = append(plans, plan{trouble, story, steps, disturb})
		}
	}
	const each = "each event "
	add(TwiceAtOnce, each+"came four times in parallel and ran twice in parallel; one run was rolled back",
		eachWith(c.Events, step{times: deliveries}), doubled)
	add(Crashed, each+"was interrupted after every statement, and once between its end and the COMMIT; then it ran again",
		inOrder(c.Events), crashing)
	add(TwoIDs, each+"came under two ids in parallel", eachWith(c.Events, step{also: asSecond}), none)
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
		add(Shuffled, "the events came in the order "+ids(order), inOrder(order), none)
	}
	add(AllAtOnce, "all events came and were handled at the same time", []step{{events: c.Events}}, none)
	return plans
}

// inOrder delivers one event after the other.
func inOrder(events []Event) []step { return eachWith(events, step{}) }

func eachWith(events []Event, s step) []step {
	var steps []step
	for _, e := range events {
		s.events = []Event{e}
		steps = append(steps, s)
	}
	return steps
}

// orders are others than the given one: with every two neighbours changed over, and
// all of it reversed. A handler that stands those stands all that follow from them,
// or compares more than two events, which none should.
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
