// Package forecast predicts the effects of a replay with the current routes, for the command line
// and the console.
package forecast

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Replay is a replay to predict.
type Replay struct {
	Outbox  *outbox.Outbox
	Table   *route.Table // current routes; nil if unknown
	NewKeys bool
	Route   string // the only replayed route; empty for all routes
}

// Forecast counts the effects that a replay creates, and the effects that it tries again. Done
// effects stay done, and unfinished effects continue.
type Forecast struct {
	Created int `json:"created"`
	Again   int `json:"tried_again"`
}

// OfRoute is the part of a Forecast that belongs to one route. Route is empty for effects that no
// current route creates.
type OfRoute struct {
	Route string
	Forecast
}

// String describes the forecast in words.
func (f Forecast) String() string {
	return fmt.Sprintf("%s created, %d tried again", noun.Counted(f.Created, "new effect"), f.Again)
}

// Of predicts the replay of an event. It returns false if no prediction is possible.
func (r Replay) Of(ctx context.Context, ref identity.EventRef) (Forecast, bool, error) {
	e, err := r.Outbox.Inbox().Recall(ctx, ref)
	if errors.Is(err, ledger.ErrNotFound) {
		return Forecast{}, false, nil
	}
	if err != nil {
		return Forecast{}, false, err
	}
	return r.OfEvent(ctx, e)
}

// OfEvent is like Of, for an event that was read with its body.
func (r Replay) OfEvent(ctx context.Context, e *inbox.Event) (Forecast, bool, error) {
	routes, known, err := r.ByRoute(ctx, e)
	var sum Forecast
	for _, of := range routes {
		sum.Created += of.Created
		sum.Again += of.Again
	}
	return sum, known, err
}

// ByRoute predicts, for each route, the replay of an event that was read with its body. It omits
// routes for which the replay changes nothing, and returns false if no prediction is possible.
func (r Replay) ByRoute(ctx context.Context, e *inbox.Event) (routes []OfRoute, known bool, err error) {
	if r.Table == nil || e.Body == nil || r.Table.LeavesToHandlers(e.Source) {
		return nil, false, nil
	}
	replayed := *e
	replayed.OnlyRoute = r.Route
	planned, err := r.Table.Plan(ctx, &replayed)
	if err != nil {
		return nil, false, nil //nolint:nilerr // no prediction is possible if an evaluation took too long
	}
	of := func(name string) *Forecast {
		at := slices.IndexFunc(routes, func(o OfRoute) bool { return o.Route == name })
		if at < 0 {
			at, routes = len(routes), append(routes, OfRoute{Route: name})
		}
		return &routes[at].Forecast
	}
	var stored map[identity.EffectID]ledger.Effect // another event may have created effects with the same keys
	if !r.NewKeys {
		ids := make([]identity.EffectID, len(planned))
		for i, p := range planned {
			ids[i] = p.EffectID
		}
		if stored, err = r.Outbox.Ledger().EffectsByID(ctx, ids); err != nil {
			return nil, false, err
		}
	}
	for _, p := range planned {
		if _, there := stored[p.EffectID]; !there {
			of(p.Route).Created++
		}
	}
	made, err := r.Outbox.Ledger().EffectsOfEvent(ctx, e.EventRef)
	if err != nil {
		return nil, false, err
	}
	for _, m := range made {
		name := r.creator(e.Source, m.Scope)
		if m.State.Finished() && m.State != ledger.EffectDone && (r.Route == "" || name == r.Route) {
			of(name).Again++
		}
	}
	return routes, true, nil
}

// creator returns the route whose effects have a scope: a current route, or r.Route even if it is
// not current. It returns "" if there is no such route.
func (r Replay) creator(source identity.Source, scope identity.Scope) string {
	for _, name := range append(r.Table.Names(), r.Route) {
		if scope == identity.ScopeOfRoute(source, name) {
			return name
		}
	}
	return ""
}
