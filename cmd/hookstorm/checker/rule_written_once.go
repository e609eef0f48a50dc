package checker

import (
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// writtenOnce checks I10. Handlers wrote one row for each dispatched generation. If the handlers of
// the run enqueue effects, each handled event has exactly one effect. The statements of sql effects
// wrote one row for each effect that is done.
func (j *judge) writtenOnce() {
	done := make(map[string]int) // sql effects, by event id
	of := make(map[string]*effect)
	for _, e := range j.effects {
		if e.row == nil || j.kindOf(e) != "sql" {
			continue
		}
		of[e.row.EventID] = e
		if e.row.State == "done" {
			done[e.row.EventID]++
		}
	}
	for id, e := range of {
		if j.books[id] != done[id] {
			j.effectViolatedf("I10", e, "%d sql effects of event %s are done, but its statement wrote %d rows", done[id], id, j.books[id])
		}
	}
	for id, n := range j.books {
		if of[id] == nil {
			j.violated("I10", id, "a statement wrote "+plural(n, "row")+" for an event that has no sql effect")
		}
	}
	handlers := make(map[identity.Source]bool)
	for _, s := range scenario.Sources() {
		handlers[identity.Source(s.Name)] = s.Handlers
	}
	enqueues := false // true if the handlers of this run enqueue effects
	for _, e := range j.events {
		enqueues = enqueues || (handlers[e.ref.Source] && len(e.effects) > 0)
	}
	for _, e := range j.events {
		if len(e.handled) == 0 && (e.row == nil || !handlers[e.ref.Source]) {
			continue
		}
		j.handledOnce(e)
		if enqueues && len(e.handled) > 0 && len(e.effects) != 1 {
			j.eventViolatedf("I10", e, "its handler enqueues one effect in its transaction, but it has %d", len(e.effects))
		}
	}
}

// handledOnce compares the dispatched generations with the generations that a handler wrote.
func (j *judge) handledOnce(e *event) {
	var wanted []int
	if e.row != nil {
		wanted = e.dispatched()
	}
	slices.Sort(e.handled)
	if !slices.Equal(wanted, e.handled) {
		j.eventViolatedf("I10", e, "its generations %v were dispatched, but handlers wrote for %v", wanted, e.handled)
	}
}

// dispatched returns the successfully dispatched generations of a stored event, ascending.
func (e *event) dispatched() []int {
	var generations []int
	for _, r := range e.replays {
		if r.PreviousOutcome == "dispatched" {
			generations = append(generations, r.Generation-1)
		}
	}
	if e.row.Outcome == "dispatched" {
		generations = append(generations, e.row.Generation)
	}
	slices.Sort(generations)
	return generations
}
