package worker

import (
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// tally counts attempts by the minute. Package measure defines attempts, first attempts and failed
// attempts. An effect that is superseded, or parked by its claim, makes no attempt and is not
// counted.
type tally struct {
	counts *measure.Counts
	of     sync.Map // whose: *attemptTally
}

// whose is a source or destination whose attempts are counted together.
type whose struct {
	kind measure.Kind
	name string
}

// attemptTally contains the counters for a destination's attempts, or for a source's events.
type attemptTally struct {
	attempts, done, first, firstFailed *measure.Counter
	took                               *measure.Timer
}

func (t *tally) attemptsOf(w whose) *attemptTally {
	if found, ok := t.of.Load(w); ok {
		return found.(*attemptTally) //nolint:forcetypeassert // the map holds no other type
	}
	counter := func(what measure.What) *measure.Counter { return t.counts.Of(w.kind, w.name, what) }
	made := &attemptTally{
		attempts: counter(measure.Attempts), done: counter(measure.Done),
		first: counter(measure.First), firstFailed: counter(measure.FirstFailed),
	}
	if w.kind == measure.OfDestination {
		made.took = t.counts.Timer(w.kind, w.name) // the timer of a source measures accepts
	}
	found, _ := t.of.LoadOrStore(w, made)
	return found.(*attemptTally) //nolint:forcetypeassert // the map holds no other type
}

// effect counts an attempt of an effect.
func (t *tally) effect(effect *ledger.Effect, outcome string, took time.Duration) {
	first := effect.Attempt == 1
	t.attemptsOf(whose{measure.OfDestination, effect.Destination}).add(first, outcome, took)
	if source := effect.Event.Source; source != "" { // empty if enqueued without an event
		t.attemptsOf(whose{measure.OfSource, string(source)}).add(first, outcome, took)
	}
}

// dispatched counts an event that was dispatched or skipped.
func (t *tally) dispatched(source identity.Source, outcome inbox.Outcome) {
	what := measure.Dispatched
	if outcome == inbox.Skipped {
		what = measure.Skipped
	}
	t.counts.Of(measure.OfSource, string(source), what).Add(1)
}

// abandoned counts an attempt whose sender did not return.
func (t *tally) abandoned(destination string) {
	t.counts.Of(measure.OfDestination, destination, measure.Abandoned).Add(1)
}

// handler counts a handler run.
func (t *tally) handler(source identity.Source, first bool, outcome string, took time.Duration) {
	t.attemptsOf(whose{measure.OfSource, string(source)}).add(first, outcome, took)
}

func (a *attemptTally) add(first bool, outcome string, took time.Duration) {
	a.attempts.Add(1)
	done := outcome == outcomeDone
	if done {
		a.done.Add(1)
	}
	if first {
		a.first.Add(1)
		if !done {
			a.firstFailed.Add(1)
		}
	}
	a.took.Add(took)
}
