package model

// World is the subject of one exploration. Every world has two sends, two workers, one
// destination, and an effect for each event and generation of keys.
type World struct {
	Name       string
	TwoEvents  bool  // the sends carry different events
	AtMostOnce bool  // the effects are at_most_once; at_least_once otherwise
	Ordered    bool  // effects run one after another; a parked effect blocks later ones
	Late       bool  // the request is rendered at the first attempt
	Statement  bool  // effects are statements in the same Postgres
	Breaker    bool  // the destination has a breaker
	Deploys    bool  // workers restart with a newer configuration, one at a time
	Contents   bool  // a repeat of a stored body is a duplicate
	Attempts   uint8 // attempts before an effect is given up
	Budget     Budget
}

const (
	callsAtLeastOnce = "calls, at_least_once"
	callsAtMostOnce  = "calls, at_most_once"
	anOrder          = "an order"
	aBreaker         = "a breaker"

	twoConfigurations = "two configurations"
	byContent         = "events by content"
)

// Worlds returns the worlds that Explore visits. The first two set the bound within which the
// promises are proved. This bound is 2 sends, 2 workers, 2 crashes, 1 other fault of any kind and 1
// replay. The other worlds add features that these two lack, with bounds of their own.
func Worlds() []World {
	return []World{
		{Name: callsAtLeastOnce, Attempts: 3, Budget: Budget{Crashes: 2, Faults: 1, Replays: 1}},
		{Name: callsAtMostOnce, Attempts: 2, AtMostOnce: true, Budget: Budget{Crashes: 2, Faults: 1, Replays: 1}},
		{Name: "a person's orders, at_least_once", Attempts: 2, Budget: Budget{Crashes: 1, Faults: 2, Orders: 1}},
		{Name: "a person's orders, at_most_once", Attempts: 2, AtMostOnce: true, Budget: Budget{Crashes: 1, Faults: 1, Orders: 2}},
		{Name: "late requests, at_least_once", Attempts: 2, Late: true, Budget: Budget{Crashes: 1, Faults: 1, Orders: 1, Reloads: 1}},
		{Name: "late requests, at_most_once", Attempts: 2, Late: true, AtMostOnce: true, Budget: Budget{Crashes: 1, Faults: 1, Orders: 1, Reloads: 1}},
		{Name: "statements", Attempts: 2, Statement: true, Budget: Budget{Crashes: 1, Faults: 1, Replays: 1}},
		{Name: anOrder, Attempts: 2, TwoEvents: true, Ordered: true, Budget: Budget{Crashes: 1, Faults: 1, Orders: 1}},
		{Name: aBreaker, Attempts: 2, Breaker: true, Budget: Budget{Crashes: 1, Faults: 2, Pauses: 1}},
		{Name: twoConfigurations, Attempts: 2, Deploys: true, Budget: Budget{Crashes: 1, Faults: 1, Replays: 1}},
		{Name: byContent, Attempts: 2, TwoEvents: true, Contents: true, Budget: Budget{Crashes: 1, Faults: 1}},
	}
}

// Smaller returns the worlds of Worlds with smaller budgets. Explore visits them in seconds, and
// they still reach every step and every transition.
func Smaller() []World {
	worlds := Worlds()
	for i, budget := range []Budget{
		{Crashes: 1, Faults: 1},
		{Crashes: 1, Faults: 1},
		{Faults: 2, Orders: 1},
		{Faults: 1, Orders: 2},
		{Crashes: 1, Orders: 1, Reloads: 1},
		{Crashes: 1, Reloads: 1},
		{Faults: 1, Replays: 1},
		{Orders: 1},
		{Faults: 2, Pauses: 1},
		{Crashes: 1, Faults: 1},
		{Faults: 1},
	} {
		worlds[i].Budget = budget
	}
	return worlds
}

// eventOf returns the event that a send carries.
func (w World) eventOf(send int) int {
	if w.TwoEvents {
		return send
	}
	return 0
}

// effectOf returns the effect of an event under a generation of keys.
func (w World) effectOf(e int, generation uint8) int {
	if w.TwoEvents {
		return e
	}
	return int(generation) - 1
}

func (w World) eventOfEffect(f int) int {
	if w.TwoEvents {
		return f
	}
	return 0
}

func dispatchJob(e int) uint8   { return [events]uint8{0, 1}[e] }
func effectJob(f int) uint8     { return [effects]uint8{events, events + 1}[f] }
func eventOfJob(job uint8) int  { return int(job) }
func effectOfJob(job uint8) int { return int(job) - events }
func isDispatch(job uint8) bool { return job < events }
