// Package checker judges a run of hookstorm by its history alone. It checks that every
// promise of docs/guarantees.md was kept for every event, effect and operator action in the
// history.
package checker

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Options set the minimum work of a meaningful run, and the attempt limit of its effects.
type Options struct {
	MinAcked  int      // deliveries that must be answered with 2xx
	MinFaults int      // faults that must fire, not counting simulated ones
	Kinds     []string // kinds of faults that must fire
	// MaxAttempts is the number of attempts after which an effect may be parked. 0 means 20,
	// the default of destinations.
	MaxAttempts int
}

// Check judges a history. If it finds a violation, it reads the file again to collect the stories.
// It returns an error if the history is invalid or incomplete.
func Check(file io.ReadSeeker, opts Options) (Verdict, error) {
	leaks := &leakFinder{in: file}
	facts, totals, err := gather(history.Read(leaks))
	if err != nil {
		return Verdict{}, fmt.Errorf("check history: %w", err)
	}
	if facts.clock == 0 {
		return Verdict{}, fmt.Errorf("check history: it has no row of %s: the snapshot of the database is missing or incomplete", tableClock)
	}
	opts.MaxAttempts = cmp.Or(opts.MaxAttempts, 20)
	j := newJudge(facts, totals, opts)
	for _, rule := range rules {
		rule(j)
	}
	j.leaked("the history", leaks)
	slices.SortStableFunc(j.violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Text, b.Text))
	})
	verdict := Verdict{Violations: j.violations, Totals: j.totals}
	if err := verdict.tell(file); err != nil {
		return Verdict{}, fmt.Errorf("check history: %w", err)
	}
	return verdict, nil
}

// rules lists every rule except I12, for which Check calls leaked. Each rule has its own file or
// shares one with a rule about the same rows.
var rules = []func(*judge){
	(*judge).acknowledgedIsStored, // I1
	(*judge).erasedWasOrdered,     // I1
	(*judge).windowsOfStored,      // I1
	(*judge).acceptedOnce,         // I2
	(*judge).storedWasSigned,      // I3
	(*judge).effectsAreOnce,       // I4
	(*judge).stateMachine,         // I4
	(*judge).eventsEnded,          // I5
	(*judge).effectsEnded,         // I5
	(*judge).doneWasConfirmed,     // I6
	(*judge).sameKeyAndBody,       // I7
	(*judge).atMostOnce,           // I8
	(*judge).onlyCommitted,        // I9
	(*judge).enqueuesStand,        // I9
	(*judge).writtenOnce,          // I10
	(*judge).ordersHappened,       // I11
	(*judge).inOrder,
	(*judge).newestStands,
	(*judge).newestDecides,
	(*judge).pausesHold,
	(*judge).ledgerIsWhatWasSeen,
	(*judge).provesSomething,
	(*judge).linear, // last, because it skips events that other rules reported
}

// judge collects the violations that the rules find.
type judge struct {
	*facts

	opts       Options
	totals     Totals
	byKey      map[string]*effect  // by idempotency key
	contents   map[content]bool    // see storedContents
	erased     map[string]bool     // deliveries with an event that was erased or redacted
	ordersOf   map[string][]*order // actions by target; the target of a bulk run is empty
	violations []Violation
}

func newJudge(f *facts, totals Totals, opts Options) *judge {
	j := &judge{facts: f, opts: opts, totals: totals, byKey: make(map[string]*effect, len(f.effects)), erased: make(map[string]bool), ordersOf: make(map[string][]*order)}
	gone := make(map[identity.EventRef]bool) // events that were erased or redacted
	for _, e := range f.effects {
		if e.row != nil {
			j.byKey[e.row.IdempotencyKey] = e
			j.totals.Effects++
		}
	}
	for _, e := range f.events {
		if e.row != nil {
			j.totals.Events++
		}
		if e.row != nil && e.row.ErasedAt+e.row.RedactedAt != 0 {
			j.erased[e.row.DeliveryID] = true
			gone[e.ref] = true
		}
	}
	for _, c := range f.copies {
		if gone[identity.EventRef{Source: identity.Source(c.Source), EventID: identity.EventID(c.EventID)}] {
			j.erased[c.DeliveryID] = true
		}
	}
	for _, o := range f.orders {
		j.ordersOf[o.target()] = append(j.ordersOf[o.target()], o)
	}
	j.totals.Kinds = len(f.faults)
	return j
}

// violated reports a broken promise. The violation's story covers the subject key and all further
// subjects.
func (j *judge) violated(rule Rule, key, text string, also ...string) {
	j.violations = append(j.violations, Violation{Rule: rule, Key: key, Text: text, also: also})
}

func (j *judge) eventViolatedf(rule Rule, e *event, format string, args ...any) {
	var also []string
	if e.row != nil {
		also = append(also, subjectOfDelivery(e.row.DeliveryID))
	}
	j.violated(rule, e.ref.String(), fmt.Sprintf(format, args...), also...)
}

func (j *judge) effectViolatedf(rule Rule, e *effect, format string, args ...any) {
	j.violated(rule, e.name(), fmt.Sprintf("%s (%s): %s", e.id, e.destination(), fmt.Sprintf(format, args...)))
}

// destination returns the name of the effect's destination, or "no row".
func (e *effect) destination() string {
	if e.row == nil {
		return "no row"
	}
	return e.row.Destination
}

// at formats a time of the run, given in microseconds, as a number of seconds.
func at(micros int64) string { return fmt.Sprintf("%.6f s", float64(micros)/1e6) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
