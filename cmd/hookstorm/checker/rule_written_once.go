package checker

import (
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// writtenOnce is I10: handlers wrote once for each generation that was dispatched,
// and sql effects once for each that is done.
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
			j.effectViolated("I10", e, "%d sql effects of event %s are done, and its statement wrote %d rows", done[id], id, j.books[id])
		}
	}
	for id, n := range j.books {
		if of[id] == nil {
			j.violated("I10", id, "a statement wrote "+plural(n, "row")+" for an event that has no sql effect")
		}
	}
	for _, e := range j.events {
		if len(e.handled) > 0 || (e.row != nil && scenarioHandles(string(e.ref.Source))) {
			j.handledOnce(e)
		}
	}
}

func scenarioHandles(source string) bool {
	return slices.ContainsFunc(scenario.Sources(), func(s scenario.Source) bool { return s.Name == source && s.Handlers })
}

func (j *judge) handledOnce(e *event) {
	var wanted []int
	if e.row != nil {
		wanted = e.dispatched()
	}
	slices.Sort(e.handled)
	if !slices.Equal(wanted, e.handled) {
		j.eventViolated("I10", e, "its generations %v were dispatched, and handlers wrote for %v", wanted, e.handled)
	}
}

// dispatched are the generations of a stored event whose dispatch ended well,
// ascending.
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
