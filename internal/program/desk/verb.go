// Package desk defines the verbs that operators apply to events, effects, destinations, sources,
// bulk runs and refused deliveries, and decides what an operator may see. The command line, the
// console and its API use texts from this package.
package desk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Thing is a kind of object to which verbs apply, with its name in commands and paths.
type Thing string

// Kinds of things.
const (
	Events       Thing = "events"
	Effects      Thing = "effects"
	Destinations Thing = "destinations"
	Sources      Thing = "sources"
	Runs         Thing = "runs"
	Refused      Thing = "quarantine" // refused deliveries
)

// One returns the thing's name in the singular.
func (t Thing) One() string { return strings.TrimSuffix(string(t), "s") }

// Target identifies the object to which a verb is applied.
type Target struct {
	Event identity.EventRef // event, if the thing is Events
	Run   int64             // number of the run, if the thing is Runs
	Name  string            // key or name of any other thing
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

// Terms are the options of a verb, if the verb has any.
type Terms struct {
	NewKeys bool          // for verbs with TakesNewKeys
	Route   string        // for verbs with TakesRoute: the only route by which events are dispatched again; empty for all routes
	Pace    float64       // for verbs with TakesPace: changes per second, 0 for no limit
	Request ledger.Resend // for verbs with TakesRequest
}

// Verb is an action that an operator can apply to one thing. A bulk run can apply some verbs to
// many things: see Many.
type Verb struct {
	On     Thing
	Name   string        // name of the command, and last part of the API path
	Action ledger.Action // name in the operator log
	Role   signin.Role   // role required in the console and its API
	Button string        // label of the button on a page
	Asks   string        // first words of the confirmation question; if empty, Button
	Short  string        // description in the list of commands
	// Means describes the verb's result, in sentences. The first sentence begins with "The" and
	// the kind of thing.
	Means string
	Past  string // state of the thing afterwards, such as "paused"
	Then  string // next step for a single thing; empty if there is none
	Done  string // confirmation on a page; if empty, Past and "recorded"
	// From are the states in which the verb is possible; nil for all states.
	From []string
	// Usual is the state used in examples.
	Usual string
	// TakesNewKeys, TakesRoute, TakesPace and TakesRequest select the terms that the verb accepts.
	TakesNewKeys, TakesRoute, TakesPace, TakesRequest bool
	// Idempotent is true if applying the verb twice has the same result as applying it once.
	Idempotent bool
	// Reversible is true if another verb undoes this one completely: nothing is sent and nothing is
	// lost.
	Reversible bool
	// Doubt returns the reason why an operator must check the receiver before applying the verb to
	// an effect. If it is nil or returns "", no check is needed.
	Doubt func(ledger.Effect) string
	// Own marks a verb with separate commands and pages, listed here only for its texts.
	Own bool
	// Do applies the verb to one thing. Its errors are from the package that stores the thing. Do
	// is nil if Own is true.
	Do func(ctx context.Context, o *outbox.Outbox, target Target, terms Terms, by ledger.Operator) error
}

// Known reports whether the verb exists.
func (v Verb) Known() bool { return v.Name != "" }

// Many reports whether a bulk run can apply the verb.
func (v Verb) Many() bool { return slices.Contains(runs.Actions(), v.Action) }

// MeansFor returns Means with another first word: for "Each", it returns "Each effect is ...".
func (v Verb) MeansFor(word string) string { return word + strings.TrimPrefix(v.Means, "The") }

// Result returns the state of a thing after the verb, and the next step if there is one.
func (v Verb) Result() string {
	if v.Then == "" {
		return v.Past
	}
	return v.Past + ": " + v.Then
}

// Said returns the confirmation on a page.
func (v Verb) Said() string {
	if v.Done != "" {
		return v.Done
	}
	return strings.ToUpper(v.Past[:1]) + v.Past[1:] + " and recorded."
}

// PossibleIn reports whether the verb applies to a thing in this state.
func (v Verb) PossibleIn(state string) bool { return v.From == nil || slices.Contains(v.From, state) }

// Of returns the verbs of a thing, except verbs with Own, in the order on pages.
func Of(thing Thing) []Verb {
	return slices.DeleteFunc(Verbs(), func(v Verb) bool { return v.Own || v.On != thing })
}

// Possible returns the verbs that apply to a thing in this state.
func Possible(thing Thing, state string) []Verb {
	return slices.DeleteFunc(Of(thing), func(v Verb) bool { return !v.PossibleIn(state) })
}

// Named returns the verb of a thing by name, except verbs with Own. If there is none, it returns
// the zero Verb, for which Known returns false.
func Named(thing Thing, name string) Verb {
	return first(func(v Verb) bool { return !v.Own && v.On == thing && v.Name == name })
}

// By returns the verb for an action. If there is none, it returns the zero Verb.
func By(action ledger.Action) Verb { return first(func(v Verb) bool { return v.Action == action }) }

// SaidOf returns the confirmation for the verb with this name, or "" if there is none. Verbs with
// the same name have the same confirmation.
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

// Narrow limits a bulk run over events to the source and type of a route. It sets the run's source
// if the route has exactly one source, and the run's type if the route has exactly one type. It
// keeps a source or type that is already set.
func Narrow(o *runs.Order, r route.Route) {
	if len(r.From) == 1 && r.From[0] != "*" {
		o.Events.Source = cmp.Or(o.Events.Source, identity.Source(r.From[0]))
	}
	if len(r.Types) == 1 {
		o.Events.Type = cmp.Or(o.Events.Type, r.Types[0])
	}
}
