// Package desk defines the verbs that operators apply to events, effects, destinations,
// sources and runs, and decides what an operator may see. The command line, the console
// and its API take their texts from it.
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

// Thing is a kind of object that verbs apply to, as commands and paths name it.
type Thing string

// All things.
const (
	Events       Thing = "events"
	Effects      Thing = "effects"
	Destinations Thing = "destinations"
	Sources      Thing = "sources"
	Runs         Thing = "runs"
	Refused      Thing = "quarantine" // deliveries
)

// One returns the singular.
func (t Thing) One() string { return strings.TrimSuffix(string(t), "s") }

// Target identifies the object that a verb is applied to.
type Target struct {
	Event identity.EventRef // of Events
	Run   int64             // of Runs
	Name  string            // of the others: a key or a name
}

// String implements fmt.Stringer.
func (t Target) String() string {
	switch {
	case t.Run != 0:
		return "run " + strconv.FormatInt(t.Run, 10)
	case t.Name != "":
		return t.Name
	}
	return t.Event.String()
}

// Terms are the options of a verb, where it takes any.
type Terms struct {
	NewKeys bool    // of TakesNewKeys
	Pace    float64 // of TakesPace: changes per second. 0: no limit.
}

// Verb is an action that an operator can apply to one thing, and with a bulk run to many.
type Verb struct {
	On     Thing
	Name   string        // of the command, and the last part of its path
	Action ledger.Action // in the operator log
	Role   signin.Role   // required for it in the console and its API
	Button string        // on a page
	Asks   string        // first words of the confirmation question. Empty: Button.
	Short  string        // in the list of commands
	// Means describes the verb's result, in sentences. The first begins with The and the thing.
	Means string
	Past  string // state of the thing afterwards: "paused"
	Then  string // next step for a single thing. Empty: none.
	Done  string // confirmation on a page. Empty: Past and recorded.
	// From are the states in which the verb is possible; nil: all.
	From []string
	// Usual is the state used in examples.
	Usual string
	// TakesNewKeys and TakesPace say which terms the verb takes.
	TakesNewKeys, TakesPace bool
	// Doubt says why an operator has to check the receiver before the verb is applied to an
	// effect. Empty or nil: no check is needed.
	Doubt func(ledger.Effect) string
	// Own marks a verb with commands and pages of its own, listed here for its texts.
	Own bool
	// Do applies the verb to one thing. Errors: those of the package that stores the thing.
	// Nil where Own.
	Do func(ctx context.Context, o *outbox.Outbox, target Target, terms Terms, by ledger.Operator) error
}

// Known reports whether the verb exists.
func (v Verb) Known() bool { return v.Name != "" }

// Many reports whether a bulk run can apply the verb.
func (v Verb) Many() bool { return slices.Contains(runs.Actions(), v.Action) }

// MeansFor returns Means with another first word, such as "Each" for "Each effect is ...".
func (v Verb) MeansFor(word string) string { return word + strings.TrimPrefix(v.Means, "The") }

// Result describes one thing afterwards.
func (v Verb) Result() string {
	if v.Then == "" {
		return v.Past
	}
	return v.Past + ": " + v.Then
}

// Said is the confirmation on a page.
func (v Verb) Said() string {
	if v.Done != "" {
		return v.Done
	}
	return strings.ToUpper(v.Past[:1]) + v.Past[1:] + " and recorded."
}

// PossibleIn reports whether the verb applies to a thing in this state.
func (v Verb) PossibleIn(state string) bool { return v.From == nil || slices.Contains(v.From, state) }

// Of returns the verbs of a thing except its Own, in the order in which pages offer them.
func Of(thing Thing) []Verb {
	return slices.DeleteFunc(Verbs(), func(v Verb) bool { return v.Own || v.On != thing })
}

// Possible returns the verbs that apply to a thing in this state.
func Possible(thing Thing, state string) []Verb {
	return slices.DeleteFunc(Of(thing), func(v Verb) bool { return !v.PossibleIn(state) })
}

// Named returns the verb of a thing that is not its Own. Not Known: none exists.
func Named(thing Thing, name string) Verb {
	return first(func(v Verb) bool { return !v.Own && v.On == thing && v.Name == name })
}

// By returns the verb of an action. Not Known: none exists.
func By(action ledger.Action) Verb { return first(func(v Verb) bool { return v.Action == action }) }

// SaidOf returns the confirmation of the verb of this name. Empty: none exists.
func SaidOf(name string) string {
	if v := first(func(v Verb) bool { return v.Name == name }); v.Known() {
		return v.Said()
	}
	return ""
}

// NoSuch reports whether Do failed because the thing does not exist.
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
