package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// eventsEnded checks I5 for events. Each event is dispatched, has the effects of its routes, and
// has no job left. An imported event has no effects and no job.
func (j *judge) eventsEnded() {
	routes := routesBySource()
	for _, e := range j.events {
		if e.jobs > 0 {
			j.eventViolatedf("I5", e, "it has %d unfinished jobs", e.jobs)
		}
		if e.row == nil {
			continue
		}
		if e.row.imported() {
			if len(e.effects) > 0 {
				j.eventViolatedf("I5", e, "the event was imported, but has effects")
			}
			continue
		}
		if e.row.Outcome != "dispatched" {
			j.eventViolatedf("I5", e, "it is %s at the end of the run, not dispatched: %q", e.row.Outcome, e.row.Error)
			continue
		}
		j.hasEffects(e, routes[string(e.ref.Source)])
	}
}

// routesBySource returns the scopes of an event's effects, by source. The run's routes have no
// conditions.
func routesBySource() map[string][]identity.Scope {
	scopes := make(map[string][]identity.Scope)
	for _, d := range scenario.Destinations() {
		for _, source := range d.From {
			scopes[source] = append(scopes[source], identity.ScopeOfRoute(identity.Source(source), d.Route))
		}
	}
	return scopes
}

// hasEffects checks that a dispatched event has one effect of each scope, and one more for
// each replay with new keys.
func (j *judge) hasEffects(e *event, scopes []identity.Scope) {
	wanted := 1
	for _, r := range e.replays {
		if r.PreviousOutcome != "dispatched" {
			return // the rows do not show which generations created effects
		}
		if r.NewKeys {
			wanted++
		}
	}
	for _, scope := range scopes {
		n := 0
		for _, l := range e.effects {
			if l.effect.id.Scope == scope && l.effect.row != nil {
				n++
			}
		}
		if n != wanted {
			j.eventViolatedf("I5", e, "it is dispatched, but has %s of %s, not %d", plural(n, "effect"), scope, wanted)
		}
	}
}

// effectsEnded checks I5 for effects. Each effect is done, or has another final state for
// a recorded reason, and has no job left.
func (j *judge) effectsEnded() {
	for _, e := range j.effects {
		if e.jobs == 1 {
			j.effectViolatedf("I5", e, "it has an unfinished job")
		}
		if e.row == nil {
			continue
		}
		if why := j.unjustified(e); why != "" {
			j.effectViolatedf("I5", e, "%s", why)
		}
	}
}

// unjustified returns why the effect's final state breaks I5, or "".
func (j *judge) unjustified(e *effect) string {
	switch e.row.State {
	case "pending", "started", "in_doubt":
		return fmt.Sprintf("it is %s at the end of the run, after %d attempts: %q", e.row.State, e.row.Attempt, e.row.Error)
	case "parked":
		if !j.mayBeParked(e) {
			return fmt.Sprintf("it is parked, but no recorded cause justifies that: %q", e.row.Error)
		}
	case "failed":
		if last := e.lastAttempt(); last == nil || last.Applied != "no" || (j.kindOf(e) != "sql" && last.Status < 300) {
			return fmt.Sprintf("it has failed, but no receiver refused it: %q", e.row.Error)
		}
	case "cancelled":
		if e.row.SupersededBy == "" && !j.ordered("cancel", e) {
			return fmt.Sprintf("it is cancelled, but no operator action requested it: %q", e.row.Error)
		}
	}
	return ""
}

// mayBeParked reports whether docs/protocol.md allows the effect to be parked. The allowed causes
// are a failed rendering, doubt about an at_most_once effect, a refusal while in doubt, used-up
// attempts, and an operator's action.
func (j *judge) mayBeParked(e *effect) bool {
	last := e.lastAttempt()
	doubt := e.row.DoubtSince != 0
	return e.row.Rendering == "failed" ||
		(doubt && e.row.Policy == "at_most_once") ||
		(doubt && last != nil && last.Applied == "no" && last.Status >= 300) ||
		e.row.Attempt >= j.opts.MaxAttempts ||
		j.ordered("park", e)
}

func (e *effect) lastAttempt() *attemptRow {
	i := slices.IndexFunc(e.attempts, func(a attemptRow) bool { return a.Attempt == e.row.Attempt })
	if i < 0 {
		return nil
	}
	return &e.attempts[i]
}

// ordered reports whether the operator log has the action for the effect, either alone or in a bulk
// run whose filter matches the effect.
func (j *judge) ordered(action string, e *effect) bool {
	if j.logged[instruction{"effect." + action, e.row.IdempotencyKey}] > 0 {
		return true
	}
	_, run, _ := strings.Cut(e.row.Error, "(run ")
	order, begun := j.bulk["run "+strings.TrimSuffix(run, ")")]
	return begun && order.Action == "effect."+action && (order.Filter.Destination == "" || order.Filter.Destination == e.row.Destination)
}

// kindOf returns the kind of the effect's destination: http, email or sql.
func (j *judge) kindOf(e *effect) string { return j.kindOfDestination(e.row.Destination) }

func (j *judge) kindOfDestination(name string) string {
	if d, known := j.destinations[name]; known {
		return d.Kind
	}
	for _, d := range scenario.Destinations() {
		if d.Name == name {
			return d.Kind
		}
	}
	return "http"
}
