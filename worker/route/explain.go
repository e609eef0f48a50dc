package route

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Explanation states whether a route matches an event, and the reason if it does not.
type Explanation struct {
	Route       string `json:"route"`
	Destination string `json:"destination"`
	Wants       bool   `json:"wants"`
	// Why is the reason why the route does not match the event, or why the effect is parked. It may
	// be empty.
	Why string `json:"why,omitzero"`
}

// Explain reports for each route whether it matches an event, as a worker would plan the event. If
// the body is no longer stored, a route with a `when` does not match, and Why says so.
func (t *Table) Explain(ctx context.Context, e *inbox.Event) []Explanation {
	scope := t.scope(ctx, e)
	explained := make([]Explanation, 0, len(t.routes))
	for _, r := range t.routes {
		x := Explanation{Route: r.Name, Destination: r.To}
		if x.Wants, x.Why = r.explain(scope); x.Wants {
			x.Wants, x.Why = t.allows(e, x.Why)
		}
		explained = append(explained, x)
	}
	return explained
}

// LeavesToHandlers reports whether Go handlers, instead of routes, process the events of a source.
func (t *Table) LeavesToHandlers(source identity.Source) bool {
	return slices.Contains(t.handled, string(source))
}

// allows reports whether a matching route receives the event. If it does not, the second result is
// the reason. Otherwise, the second result is the argument why.
func (t *Table) allows(e *inbox.Event, why string) (wants bool, instead string) {
	switch {
	case !e.ErasedAt.IsZero():
		return false, "the event is erased, and is never dispatched again"
	case t.LeavesToHandlers(e.Source):
		return false, fmt.Sprintf("Go handlers process the events of %s: this source has handlers: true", e.Source)
	}
	return true, why
}

func (r *compiledRoute) explain(scope *eventScope) (wants bool, why string) {
	e := scope.event
	switch {
	case !r.fromSource(string(e.Source)):
		return false, fmt.Sprintf("its sources are %s, not %s", strings.Join(r.From, ", "), e.Source)
	case !r.ofType(e.Type):
		return false, fmt.Sprintf("its types are %s, not %s", strings.Join(r.Types, ", "), e.Type)
	case e.Body == nil && r.when != nil:
		return false, "the route's when cannot be evaluated: the body is no longer stored"
	case e.Body == nil:
		return true, ""
	}
	_, wants, err := r.plan(scope)
	switch {
	case isInterrupted(err):
		return false, "the route cannot be evaluated: " + err.Error()
	case err != nil:
		return true, "its effect is parked: " + err.Error()
	case !wants:
		return false, "the route's when is false: " + r.When
	}
	return true, ""
}
