package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// WorstFirst returns all states of an effect, the most urgent first.
func WorstFirst() []EffectState {
	return []EffectState{EffectFailed, EffectParked, EffectInDoubt, EffectPending, EffectStarted, EffectDone, EffectCancelled}
}

// StateCounts counts the effects of one event by state.
type StateCounts map[EffectState]int

// StateCount is the number of effects in one state.
type StateCount struct {
	State EffectState
	N     int
}

// WorstFirst returns the counts of the states that occur, the worst state first.
func (c StateCounts) WorstFirst() []StateCount {
	var list []StateCount
	for _, state := range WorstFirst() {
		if n := c[state]; n > 0 {
			list = append(list, StateCount{state, n})
		}
	}
	return list
}

// Known reports whether the effects were counted.
func (c StateCounts) Known() bool { return c != nil }

// One reports whether c counts a single effect.
func (c StateCounts) One() bool {
	list := c.WorstFirst()
	return len(list) == 1 && list[0].N == 1
}

// String implements fmt.Stringer, with the worst state first: "1 failed, 2 done". A single effect
// has no number. Without effects, the result is empty.
func (c StateCounts) String() string {
	var words []string
	for _, in := range c.WorstFirst() {
		word := string(in.State)
		if !c.One() {
			word = strconv.Itoa(in.N) + " " + word
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// StatesOfEvents counts the effects of events by state, including effects of earlier events with
// the same keys. Every event has an entry in the result.
func (l *Ledger) StatesOfEvents(ctx context.Context, events []identity.EventRef) (map[identity.EventRef]StateCounts, error) {
	counts := make(map[identity.EventRef]StateCounts, len(events))
	for _, ref := range events {
		counts[ref] = StateCounts{}
	}
	rows, err := l.sql.StatesOfEffects.With(askedEvents{Asked: events}).Query(ctx, pipeline.ByIndex{Sender: l.read})
	if err != nil {
		return nil, fmt.Errorf("count effects of events: %w", err)
	}
	var ref identity.EventRef
	var state EffectState
	var n int
	if _, err = pgx.ForEachRow(rows, []any{&ref.Source, &ref.EventID, &state, &n}, func() error {
		counts[ref][state] = n
		return nil
	}); err != nil {
		return nil, fmt.Errorf("count effects of events: %w", err)
	}
	return counts, nil
}
