package worker

import (
	"slices"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// tally counts attempts, dispatches and the effects of routes by the minute. Package measure
// defines attempts, first attempts and failed attempts. An effect that is superseded, or parked by
// its claim, makes no attempt: it counts only for its route.
type tally struct {
	counts *measure.Counts
	of     sync.Map // *attemptTally by whose
}

// whose identifies the source or destination whose attempts are counted together.
type whose struct {
	kind measure.Kind
	name string
}

// attemptTally contains the counters for a destination's attempts, or for the attempts and handler
// runs of a source's events.
type attemptTally struct {
	attempts, done, first, firstFailed *measure.Counter
	took, firstTook                    *measure.Timer
}

func (t *tally) attemptsOf(w whose) *attemptTally {
	if found, ok := t.of.Load(w); ok {
		return found.(*attemptTally) //nolint:forcetypeassert // the map holds no other type
	}
	counter := func(what measure.What) *measure.Counter { return t.counts.Of(w.kind, w.name, what) }
	made := &attemptTally{
		attempts: counter(measure.Attempts), done: counter(measure.Done),
		first: counter(measure.First), firstFailed: counter(measure.FirstFailed),
		firstTook: t.counts.FirstTimer(w.kind, w.name),
	}
	if w.kind == measure.OfDestination {
		made.took = t.counts.Timer(w.kind, w.name) // a source's timer measures gateway responses
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

// planned counts the effects of a dispatch by route.
func (t *tally) planned(effects []ledger.NewEffect, d outbox.Dispatched) {
	for _, e := range effects {
		switch {
		case slices.Contains(d.Created, e.EffectID):
			t.counts.Of(measure.OfRoute, e.Route, measure.Created).Add(1)
			if e.Unrendered() {
				t.counts.Of(measure.OfRoute, e.Route, measure.Unrendered).Add(1)
			}
		case slices.Contains(d.Suppressed, e.EffectID):
			t.counts.Of(measure.OfRoute, e.Route, measure.Suppressed).Add(1)
		}
	}
}

// ended counts an effect by route, if its run ended as done, failed, parked or superseded.
func (t *tally) ended(effect *ledger.Effect, outcome string) {
	what, decided := map[string]measure.What{
		outcomeDone: measure.Done, string(ledger.EffectFailed): measure.Failed,
		string(ledger.EffectParked): measure.Parked, string(ledger.ClaimSuperseded): measure.Superseded,
	}[outcome]
	if decided && effect.Route != "" {
		t.counts.Of(measure.OfRoute, effect.Route, what).Add(1)
	}
}

// abandoned counts an attempt whose sender did not return in time.
func (t *tally) abandoned(destination string) {
	t.counts.Of(measure.OfDestination, destination, measure.Abandoned).Add(1)
}

// handler counts a handler run.
func (t *tally) handler(source identity.Source, first bool, outcome string, took time.Duration) {
	t.attemptsOf(whose{measure.OfSource, string(source)}).add(first, outcome, took)
}

// breaker counts the opening or closing of a destination's breaker.
func (t *tally) breaker(destination string, what measure.What) {
	t.counts.Of(measure.OfTimeline, destination, what).Add(1)
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
		a.firstTook.Add(took)
	}
	a.took.Add(took)
}
