// Package routes describes the configured routes, with their recent effect counts and last errors,
// for the command line and the console.
package routes

import (
	"context"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// day is the period that is searched for the last error of a route.
const day = 24 * time.Hour

// mostErrors is the maximum number of effects read to find the last errors of all routes.
const mostErrors = 1_000

// Route is a configured route, as the command line and the console show it.
type Route struct {
	Name        string   `json:"name"`
	From        []string `json:"from"`
	Types       []string `json:"types,omitempty"` // empty for all types
	When        string   `json:"when,omitzero"`   // empty if the route has no condition
	Destination string   `json:"destination"`
	// Settings are the fields of the route, and Target the fields of its destination with defaults.
	Settings []Setting `json:"settings"`
	Target   []Setting `json:"destination_settings"`
	Text     string    `json:"-"` // as YAML
}

// Setting is a field of a route or a destination, with its value as text.
type Setting struct {
	Field string `json:"field"`
	Value string `json:"value"`
}

// Counts holds the effect counts of a route in a period.
type Counts struct {
	Matched    int64 `json:"matched"`    // events that the route matched: created and suppressed effects
	Created    int64 `json:"created"`    // new effects
	Suppressed int64 `json:"suppressed"` // effects that were not created, because an earlier event had the same key
	Done       int64 `json:"done"`
	Failed     int64 `json:"failed"`     // failed permanently
	Parked     int64 `json:"parked"`     // effects that an attempt parked
	Unrendered int64 `json:"unrendered"` // effects that were created parked, because the request could not be rendered
	Superseded int64 `json:"superseded"` // effects cancelled because a newer effect of the same object was done
}

// Wrong returns the number of effects that failed, were parked or could not be rendered.
func (c Counts) Wrong() int64 { return c.Failed + c.Parked + c.Unrendered }

// Left returns the number of effects that were suppressed or superseded.
func (c Counts) Left() int64 { return c.Suppressed + c.Superseded }

func countsOf(n map[measure.What]int64) Counts {
	return Counts{
		Matched: n[measure.Created] + n[measure.Suppressed], Created: n[measure.Created], Suppressed: n[measure.Suppressed],
		Done: n[measure.Done], Failed: n[measure.Failed], Parked: n[measure.Parked], Unrendered: n[measure.Unrendered], Superseded: n[measure.Superseded],
	}
}

// LastError is a route's newest effect that needs attention.
type LastError struct {
	Effect    string             `json:"idempotency_key"`
	CreatedAt time.Time          `json:"created_at"`
	State     ledger.EffectState `json:"state"`
	Error     string             `json:"error"`
	Event     identity.EventRef  `json:"event"`
}

// State is a route with its counts and its last error.
type State struct {
	Route

	Hour Counts `json:"last_hour"`
	Day  Counts `json:"last_day"`
	// LastError is the newest effect that was created since ErrorsSince and needs attention, or
	// nil.
	LastError   *LastError `json:"last_error"`
	ErrorsSince time.Time  `json:"errors_since"`
}

// Reader reads the states of routes.
type Reader struct {
	Measure *measure.Reader
	Finder  *find.Finder
	Now     func() time.Time
}

// All returns the states of routes, in the order of list. The number of rows that it reads does not
// depend on the number of effects.
func (r Reader) All(ctx context.Context, list []Route) ([]State, error) {
	return r.read(ctx, list, "", find.Effects{}, mostErrors)
}

// One returns the state of one route. Unlike All, it searches only this route's effects for the
// last error.
func (r Reader) One(ctx context.Context, route Route) (State, error) {
	states, err := r.read(ctx, []Route{route}, route.Name, find.Effects{Route: route.Name}, 1)
	if err != nil {
		return State{}, err
	}
	return states[0], nil
}

func (r Reader) read(ctx context.Context, list []Route, name string, asked find.Effects, most int) ([]State, error) {
	counts, err := r.Measure.ByName(ctx, measure.OfRoute, name)
	if err != nil {
		return nil, err
	}
	asked.States, asked.Since = find.NeedAttention(), r.Now().Add(-day)
	page, err := r.Finder.Effects(ctx, asked, find.Beginning, most)
	if err != nil {
		return nil, fmt.Errorf("find the last errors: %w", err)
	}
	since := asked.Since
	if page.More && page.Back.After(since) {
		since = page.Back
	}
	last := map[string]*LastError{}
	for _, e := range page.Rows {
		if last[e.Route] == nil {
			last[e.Route] = &LastError{Effect: e.IdempotencyKey, CreatedAt: e.CreatedAt, State: e.State, Error: e.Error, Event: e.Event}
		}
	}
	states := make([]State, len(list))
	for i, one := range list {
		n := counts[one.Name]
		states[i] = State{Route: one, Hour: countsOf(n.Hour), Day: countsOf(n.Day), LastError: last[one.Name], ErrorsSince: since}
	}
	return states, nil
}
