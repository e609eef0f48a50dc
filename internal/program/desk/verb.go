// Package desk lists what a person can have done to events, effects, destinations, sources
// and runs, and decides what a person may see. The command line, the console and its API
// are rendered from it.
package desk

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/coverage"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// Thing is what something is done to, as commands and paths name it.
type Thing string

// The things.
const (
	Events       Thing = "events"
	Effects      Thing = "effects"
	Destinations Thing = "destinations"
	Sources      Thing = "sources"
	Runs         Thing = "runs"
	Refused      Thing = "quarantine" // deliveries
)

// One is the word for one of them.
func (t Thing) One() string { return strings.TrimSuffix(string(t), "s") }

// Target is the one that something is done to.
type Target struct {
	Event identity.EventRef // of Events
	Run   int64             // of Runs
	Name  string            // of the others: a key or a name
}

func (t Target) String() string {
	switch {
	case t.Run != 0:
		return "run " + strconv.FormatInt(t.Run, 10)
	case t.Name != "":
		return t.Name
	}
	return t.Event.String()
}

// Terms say how it is done, where the verb takes them.
type Terms struct {
	NewKeys bool    // of TakesNewKeys
	Pace    float64 // of TakesPace: changes in a second. 0: as fast as it goes.
}

// Verb is what a person can have done to one thing, and to many in a run.
type Verb struct {
	On     Thing
	Name   string        // of the command, and the last part of its path
	Action ledger.Action // in the operator log
	Role   signin.Role   // that may order it in the console and by its API
	Button string        // on a page
	Asks   string        // begins the question before it. Empty: Button.
	Short  string        // in the list of commands
	// Means is what it does in the world: sentences of which the first begins with It.
	Means string
	Past  string // what the thing is afterwards: "paused"
	Then  string // and what comes next, for one. Empty: nothing.
	Done  string // said on a page afterwards. Empty: Past and recorded.
	// From are the states that it is possible in; nil: all of them.
	From []string
	// Usual is the state that examples have.
	Usual string
	// TakesNewKeys and TakesPace tell which terms it takes.
	TakesNewKeys, TakesPace bool
	// Doubt says why the receiver has to be looked at before it is done to an effect. Empty:
	// it has not. Nil: it never has.
	Doubt func(ledger.Effect) string
	// Own: it is ordered by commands and on pages of its own, and is here for its words.
	Own bool
	// Do does it to one. Errors: those of the package that keeps the thing. Nil where Own.
	Do func(ctx context.Context, o *outbox.Outbox, target Target, terms Terms, by ledger.Operator) error
}

// Known reports whether there is such a verb.
func (v Verb) Known() bool { return v.Name != "" }

// Many reports whether a run can do it.
func (v Verb) Many() bool { return slices.Contains(runs.Actions(), v.Action) }

// MeansFor is what it does, of a subject like "Each" or "The effect".
func (v Verb) MeansFor(subject string) string { return subject + strings.TrimPrefix(v.Means, "It") }

// Result is what one thing is afterwards.
func (v Verb) Result() string {
	if v.Then == "" {
		return v.Past
	}
	return v.Past + ": " + v.Then
}

// Said is what a page says afterwards.
func (v Verb) Said() string {
	if v.Done != "" {
		return v.Done
	}
	return strings.ToUpper(v.Past[:1]) + v.Past[1:] + " and recorded."
}

// PossibleIn reports whether it can be done to a thing in this state.
func (v Verb) PossibleIn(state string) bool { return v.From == nil || slices.Contains(v.From, state) }

// Of are the verbs of a thing but its Own, in the order in which pages offer them.
func Of(thing Thing) []Verb {
	return slices.DeleteFunc(Verbs(), func(v Verb) bool { return v.Own || v.On != thing })
}

// Possible are the verbs of a thing that is in this state.
func Possible(thing Thing, state string) []Verb {
	return slices.DeleteFunc(Of(thing), func(v Verb) bool { return !v.PossibleIn(state) })
}

// Named is the verb of a thing that is not its Own. Not Known: there is none.
func Named(thing Thing, name string) Verb {
	return first(func(v Verb) bool { return !v.Own && v.On == thing && v.Name == name })
}

// By is the verb of an action. Not Known: there is none.
func By(action ledger.Action) Verb { return first(func(v Verb) bool { return v.Action == action }) }

// SaidOf is what a page says after a verb of this name. Empty: there is none.
func SaidOf(name string) string {
	if v := first(func(v Verb) bool { return v.Name == name }); v.Known() {
		return v.Said()
	}
	return ""
}

// NoSuch reports whether Do found no such thing.
func NoSuch(err error) bool {
	for _, missing := range []error{ledger.ErrNotFound, ledger.ErrUnknownDestination, runs.ErrNoRun, coverage.ErrNoList} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return false
}

func first(is func(Verb) bool) Verb {
	all := Verbs()
	if at := slices.IndexFunc(all, is); at >= 0 {
		return all[at]
	}
	return Verb{}
}
