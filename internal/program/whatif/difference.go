package whatif

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Kind is the kind of a Difference.
type Kind string

// The kinds of a Difference.
const (
	Fails   Kind = "error"   // the new configuration cannot render the effect's request, so it parks the effect
	Gone    Kind = "gone"    // the new configuration does not create the effect
	Added   Kind = "added"   // only the new configuration creates the effect
	Changed Kind = "changed" // both configurations create the effect, with different properties
)

// Kinds returns all kinds, the most serious first.
func Kinds() []Kind { return []Kind{Fails, Gone, Added, Changed} }

// Difference is a difference between the plans of one event for one route.
type Difference struct {
	Kind Kind
	// Route is the name of the route in the new configuration. For Gone, it is the name in the old
	// configuration.
	Route string
	// Before and After are the effects of the old and the new configuration. Each is nil if its
	// configuration creates no effect.
	Before, After *ledger.NewEffect
	// Fields are the properties that differ, if both effects exist. The list is empty for an error
	// that is the same with both configurations.
	Fields []string
}

// Known reports whether the difference is an error that is the same with the old configuration.
func (d Difference) Known() bool {
	return d.Kind == Fails && d.Before != nil && d.Before.Unrendered() && len(d.Fields) == 0
}

// plans are the effects that the two configurations plan for one event.
type plans struct {
	before, after []ledger.NewEffect
	differences   []Difference
}

// plan plans an event with both configurations. It returns the error of an evaluation that took too
// long or was interrupted.
func (c *Comparison) plan(ctx context.Context, e *inbox.Event) (*plans, error) {
	all := *e
	all.OnlyRoute = "" // an earlier replay may have set OnlyRoute
	var p plans
	var err error
	if p.before, err = planned(ctx, c.Old, &all); err != nil {
		return nil, fmt.Errorf("old configuration: %w", err)
	}
	if p.after, err = planned(ctx, c.New, &all); err != nil {
		return nil, fmt.Errorf("new configuration: %w", err)
	}
	p.differences = c.differences(p.before, p.after)
	return &p, nil
}

func (c *Comparison) differences(before, after []ledger.NewEffect) []Difference {
	former := make(map[string]*ledger.NewEffect, len(before)) // effects by the route's new name
	for i := range before {
		name := before[i].Route
		if to, renamed := c.Renamed[name]; renamed {
			name = to
		}
		former[name] = &before[i]
	}
	var found []Difference
	for i := range after {
		d := Difference{Route: after[i].Route, Before: former[after[i].Route], After: &after[i]}
		delete(former, d.Route)
		if d.Before != nil {
			d.Fields = changedFields(d.Before, d.After)
		}
		switch {
		case d.After.Unrendered():
			d.Kind = Fails
		case d.Before == nil:
			d.Kind = Added
		case len(d.Fields) > 0:
			d.Kind = Changed
		default:
			continue
		}
		found = append(found, d)
	}
	for _, name := range slices.Sorted(maps.Keys(former)) {
		found = append(found, Difference{Kind: Gone, Route: former[name].Route, Before: former[name]})
	}
	return found
}

// planned returns the effects that the routes create for an event.
func planned(ctx context.Context, table *route.Table, e *inbox.Event) ([]ledger.NewEffect, error) {
	if table.LeavesToHandlers(e.Source) {
		return nil, nil
	}
	return table.Forecast(ctx, e)
}

// changedFields returns the properties in which two effects differ. A property that a configuration
// can set is named after its configuration field.
func changedFields(a, b *ledger.NewEffect) []string {
	var fields []string
	for _, of := range []struct {
		field string
		same  bool
	}{
		{"route", a.Route == b.Route},
		{"destination", a.Destination == b.Destination},
		{"policy", a.Policy == b.Policy},
		{"key", a.EffectID == b.EffectID},
		{"order_by", a.OrderKey == b.OrderKey},
		{"latest_by", a.LatestKey == b.LatestKey},
		{"on_park", a.OnPark == b.OnPark},
		{"parked", a.Parked == b.Parked && a.Whole == b.Whole},
		{"refetch", a.Request.Late == b.Request.Late},
		{"method", a.Request.Method == b.Request.Method},
		{"url", a.Request.URL == b.Request.URL},
		{"headers", sameHeaders(a.Request.Headers, b.Request.Headers)},
		{"content_type", a.Request.ContentType == b.Request.ContentType},
		{"body", bytes.Equal(a.Request.Body, b.Request.Body)},
	} {
		if !of.same {
			fields = append(fields, of.field)
		}
	}
	return fields
}

func sameHeaders(a, b map[string][]string) bool {
	return maps.EqualFunc(a, b, slices.Equal[[]string])
}
