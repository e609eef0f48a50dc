package model

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notMade lists transitions of the table that no world reaches.
var notMade = map[Transition]string{
	{From: failed, What: retriedByPerson, To: inDoubt}: "an effect in doubt does not fail: it is parked",
}

// The model makes exactly the transitions of the table in the documentation of package ledger,
// except those in notMade. Tests of package outbox compare the table with the database.
func TestTransitionsAreThoseOfTheLedger(t *testing.T) {
	t.Parallel()
	allowed := tableOfStates(t)
	made := explored(t).Transitions
	for transition := range made {
		require.True(t, allowed[transition], "the model makes a transition that the ledger refuses: %s", transition)
		require.NotContains(t, notMade, transition, "notMade lists a transition that a world reaches")
	}
	for transition := range allowed {
		_, known := notMade[transition]
		require.True(t, made[transition] || known, "no world reaches the transition, and notMade does not list it: %s", transition)
	}
	for transition := range notMade {
		require.True(t, allowed[transition], "the transition is not in the table: %s", transition)
	}
}

// tableOfStates returns the transitions that the table and its notes allow.
func tableOfStates(t *testing.T) map[Transition]bool {
	t.Helper()
	page, err := os.ReadFile("../../../outbox/ledger/doc.go")
	require.NoError(t, err)
	words := regexp.MustCompile(`\b(` + strings.Join(effectStates[1:], "|") + `)\b`)
	row := regexp.MustCompile(`^//\s+([\w\\ ]+?)\s*\|(.*)$`)
	noteBegins := regexp.MustCompile(`^//\s+(\d)\. `)
	var columns []What
	cells, notes, note := map[EffectState][]string{}, map[string][]EffectState{}, ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if r := row.FindStringSubmatch(line); r != nil {
			if from := slices.Index(effectStates[:], r[1]); from >= 0 {
				cells[EffectState(from)] = strings.Split(r[2], "|")
				continue
			}
			for heading := range strings.SplitSeq(r[2], "|") {
				what := slices.Index(whats[:], strings.TrimSpace(heading))
				require.GreaterOrEqual(t, what, 0, "the model has no column %q", heading)
				columns = append(columns, What(what))
			}
		}
		if n := noteBegins.FindStringSubmatch(line); n != nil {
			note = n[1]
		}
		if line == "//" {
			note = ""
		}
		notes[note] = append(notes[note], statesIn(words, line)...)
	}
	delete(notes, "") // the text around the notes
	require.Len(t, notes, 4)
	require.Len(t, columns, len(whats))
	require.Len(t, cells, len(effectStates)-1)
	allowed := map[Transition]bool{}
	for from, row := range cells {
		for i, cell := range row {
			more := notes[strings.Trim(cell, " -abcdefghijklmnopqrstuvwxyz_")]
			if strings.TrimSpace(cell) == "-" {
				more = nil
			}
			for _, to := range append(statesIn(words, cell), more...) {
				allowed[Transition{From: from, What: columns[i], To: to}] = true
			}
		}
	}
	return allowed
}

func statesIn(words *regexp.Regexp, text string) []EffectState {
	var states []EffectState
	for _, word := range words.FindAllString(text, -1) {
		states = append(states, EffectState(slices.Index(effectStates[:], word)))
	}
	return states
}
