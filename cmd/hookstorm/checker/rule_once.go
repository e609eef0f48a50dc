package checker

import (
	"cmp"
	"slices"
)

// effectsAreOnce checks I4. A (scope, key, generation) has one effect, at most one unfinished
// job, and at most one event that created it.
func (j *judge) effectsAreOnce() {
	for _, e := range j.effects {
		switch {
		case e.rows > 1:
			j.effectViolatedf("I4", e, "it has %d rows", e.rows)
		case e.row == nil && len(e.attempts)+len(e.transitions)+len(e.links) > 0:
			j.effectViolatedf("I4", e, "it has attempts, transitions or events, but no row")
		}
		if e.jobs > 1 {
			j.effectViolatedf("I4", e, "it has %d unfinished jobs", e.jobs)
		}
		made := 0
		for _, from := range e.links {
			if slices.Contains(from.effects, link{e, false}) {
				made++
			}
		}
		if made > 1 {
			j.effectViolatedf("I4", e, "%d events are recorded as its creator", made)
		}
	}
}

// from lists, for each state, the states that may come directly before it, as in docs/protocol.md.
var from = map[string][]string{
	"started":   {"pending", "started", "in_doubt"},
	"done":      {"started"},
	"failed":    {"started"},
	"pending":   {"started", "failed", "parked", "cancelled"},
	"in_doubt":  {"started", "failed", "parked", "cancelled"},
	"parked":    {"pending", "started", "in_doubt"},
	"cancelled": {"pending", "started", "in_doubt", "failed", "parked"},
}

// stateMachine checks I4 in the transition log. Each transition starts at the state where the
// previous one ended, and docs/protocol.md allows it. A transition that starts an attempt adds one
// to the attempt count. The last transition leads to the effect's state.
func (j *judge) stateMachine() {
	for _, e := range j.effects {
		if e.row == nil {
			continue
		}
		slices.SortFunc(e.transitions, func(a, b transitionRow) int { return cmp.Compare(a.ID, b.ID) })
		state, attempt := "pending", 0
		if len(e.transitions) > 0 && e.transitions[0].From == "parked" {
			state = "parked"
		}
		if len(e.transitions) == 0 && e.row.State == "parked" {
			state = "parked"
		}
		for _, t := range e.transitions {
			if t.To == "started" {
				attempt++
			}
			if t.From != state || t.Attempt != attempt || !slices.Contains(from[t.To], t.From) {
				j.effectViolatedf("I4", e, "the log has a step from %s to %s with attempt %d, but the effect was %s with attempt %d", t.From, t.To, t.Attempt, state, attempt)
			}
			state, attempt = t.To, t.Attempt
		}
		if state != e.row.State || attempt != e.row.Attempt {
			j.effectViolatedf("I4", e, "it is %s after %d attempts, but its transition log ends at %s after %d", e.row.State, e.row.Attempt, state, attempt)
		}
	}
}
