package checker

import (
	"fmt"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

const (
	ok   = history.OK
	fail = history.Fail
)

// actions maps a run's operator actions to their names in the operator log.
var actions = map[string]string{
	"replay": "event.replay", "erase": "event.erase", "retry": "effect.retry", "cancel": "effect.cancel", "park": "effect.park",
	"resend": "effect.resend", "send": "source.send",
	"pause": "destination.pause", "resume": "destination.resume", "import": "keys.import",
}

// action returns the action's name in the operator log.
func (o *order) action() string {
	if o.Action == "erase" && o.EventID == "" {
		return "effect.erase"
	}
	return actions[o.Action]
}

// target returns the action's target as in the operator log, or "" for a bulk run.
func (o *order) target() string {
	switch o.Action {
	case "replay", "erase":
		if o.EventID != "" {
			return o.Source + "/" + o.EventID
		}
		if o.Key != "" {
			return ownKey(o.Key)
		}
	case "import": // one key per import
		return o.Source + ": keys 1 to 1"
	case "retry", "cancel", "park", "resend":
		return ownKey(o.Key)
	case "send":
		return o.Source
	case "pause", "resume":
		return o.Destination
	}
	return ""
}

// ordersHappened checks I11 for every operator action. An action answered as done is in the
// operator log, and a failed one is not. An action of unknown outcome is logged at most once.
// Generations grow only by recorded replays.
func (j *judge) ordersHappened() {
	done, maybe := make(map[instruction]int64), make(map[instruction]int64)
	selections := make(map[string]bool) // actions that a bulk run applied
	for _, o := range j.orders {
		i := instruction{o.action(), o.target()}
		switch {
		case i.target == "":
			selections[i.action] = true
		case o.kind == ok:
			done[i]++
		case o.kind != fail:
			maybe[i]++
		}
	}
	for i, n := range done {
		if j.logged[i] < n {
			j.violated("I11", i.target, fmt.Sprintf("its %s was answered as done %d times, but the operator log has it %d times", i.action, n, j.logged[i]))
		}
	}
	for i, n := range j.logged {
		if n > done[i]+maybe[i] && !selections[i.action] && j.known(i.action) {
			j.violated("I11", i.target, fmt.Sprintf("the operator log has its %s %d times, but it was requested %d times", i.action, n, done[i]+maybe[i]))
		}
	}
	for _, e := range j.events {
		j.generations(e, selections["event.replay"])
	}
}

// known reports whether the history contains an action of this name. The rule skips actions that no
// actor of the run records in the history.
func (j *judge) known(action string) bool {
	return slices.ContainsFunc(j.orders, func(o *order) bool { return o.action() == action })
}

// generations checks I11 for one event.
func (j *judge) generations(e *event, selected bool) {
	if e.row == nil {
		return
	}
	for _, o := range j.ordersOf[e.ref.String()] {
		began := func(r replayRow) bool { return r.Generation == o.Generation && r.NewKeys == o.NewKeys }
		if o.kind == ok && o.Generation > 0 && !slices.ContainsFunc(e.replays, began) {
			j.eventViolatedf("I11", e, "a replay was answered at %s with generation %d, which is not recorded", at(o.ended), o.Generation)
		}
	}
	var recorded []int
	newKeys := map[int]bool{1: true}
	for _, r := range e.replays {
		recorded = append(recorded, r.Generation)
		newKeys[r.Generation] = r.NewKeys
	}
	slices.Sort(recorded)
	for i, generation := range recorded {
		if generation != i+2 {
			j.eventViolatedf("I11", e, "its replays began the generations %v: they must count up from 2", recorded)
			break
		}
	}
	if e.row.Generation != 1+len(recorded) {
		j.eventViolatedf("I11", e, "it has generation %d, but %s are recorded", e.row.Generation, plural(len(recorded), "replay"))
	}
	if logged := j.logged[instruction{"event.replay", e.ref.String()}]; int64(len(recorded)) != logged && !selected {
		j.eventViolatedf("I11", e, "%s are recorded, but the operator log has %d", plural(len(recorded), "replay"), logged)
	}
	for _, l := range e.effects {
		if !newKeys[l.effect.id.Generation] {
			j.eventViolatedf("I11", e, "it has the effect %s of generation %d, which no replay with new keys began", l.effect.id, l.effect.id.Generation)
		}
	}
}
