package whatif

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

const (
	// mostGroups is the maximum number of groups in a Report. Senders could otherwise cause any
	// number, because they choose the event types.
	mostGroups = 500
	// mostExamples is the maximum number of examples in a Group, and mostExemplified the maximum
	// number of groups with examples.
	mostExamples    = 3
	mostExemplified = 50
)

// Report is the result of comparing the plans of events. Its size is bounded, whatever the number
// of events and routes.
type Report struct {
	// Events is the number of events that both configurations planned, and Different is the number
	// of events whose plans differ.
	Events    int `json:"events"`
	Different int `json:"events_different"`
	// Effects counts the differences of each kind. KnownErrors counts the errors that are the same
	// with the old configuration.
	Effects     map[Kind]int `json:"effects"`
	KnownErrors int          `json:"known_errors"`
	// Together counts the effects gone and added for all events together. It is nil if there were
	// too many keys to count. An effect whose key changes counts as gone and as added.
	Together *Together `json:"together,omitempty"`
	// Groups are the differences, the most serious and most frequent first. Ungrouped counts the
	// differences of further groups.
	Groups    []Group `json:"groups"`
	Ungrouped int     `json:"ungrouped"`

	// Bodiless counts the events that were left out because their content is no longer stored as
	// received. Unclear counts the events that were left out because the filter's condition failed.
	// Undecided counts the events that were left out because an evaluation took too long.
	Bodiless     int    `json:"bodiless"`
	Unclear      int    `json:"unclear"`
	Undecided    int    `json:"undecided"`
	WhyUndecided string `json:"why_undecided,omitzero"`

	// Looked is the number of selected events whose content was looked up. Back is the receipt time
	// of the oldest event that the walk reached. If More is true, older events have not been read:
	// Next is the position at which they begin.
	Looked int         `json:"looked"`
	Back   time.Time   `json:"back_to,omitzero"`
	More   bool        `json:"more"`
	Next   find.Cursor `json:"next,omitzero"`

	groups map[groupKey]*Group
	keys   keys
}

// Group is a set of equal differences of events with one source and type.
type Group struct {
	Kind   Kind            `json:"change"`
	Route  string          `json:"route"`
	Source identity.Source `json:"source"`
	Type   string          `json:"type"`
	// Fields are the properties that differ, if both configurations create the effect.
	Fields []string `json:"fields,omitempty"`
	Count  int      `json:"count"`
	// Known is the number of errors that are the same with the old configuration.
	Known int `json:"known,omitzero"`
	// Examples are differences of some events. Only the first groups that were found have examples.
	Examples []Example `json:"examples"`

	exemplified bool
}

type groupKey struct {
	kind        Kind
	route       string
	source      identity.Source
	eventType   string
	fieldsAsOne string
}

func newReport() *Report {
	return &Report{Effects: map[Kind]int{}, Groups: []Group{}, groups: map[groupKey]*Group{}, keys: keys{of: map[identity.EffectID]sides{}}}
}

// Errors returns the number of effects that the new configuration would park because it cannot
// render their requests.
func (r *Report) Errors() int { return r.Effects[Fails] }

// add counts the differences of one event.
func (r *Report) add(e *inbox.Event, p *plans) {
	r.Events++
	r.keys.add(p.before, p.after)
	different := false
	for _, d := range p.differences {
		known := d.Known()
		different = different || !known
		r.Effects[d.Kind]++
		if known {
			r.KnownErrors++
		}
		g := r.group(e, d)
		if g == nil {
			r.Ungrouped++
			continue
		}
		g.Count++
		if known {
			g.Known++
		}
		if g.exemplified && len(g.Examples) < mostExamples {
			g.Examples = append(g.Examples, exampleOf(e, d))
		}
	}
	if different {
		r.Different++
	}
}

// group returns the group of a difference. It returns nil if the group is new and there are already
// mostGroups groups.
func (r *Report) group(e *inbox.Event, d Difference) *Group {
	key := groupKey{d.Kind, d.Route, e.Source, e.Type, strings.Join(d.Fields, ",")}
	g := r.groups[key]
	if g == nil && len(r.groups) < mostGroups {
		g = &Group{Kind: d.Kind, Route: d.Route, Source: e.Source, Type: e.Type, Fields: d.Fields, Examples: []Example{}, exemplified: len(r.groups) < mostExemplified}
		r.groups[key] = g
	}
	return g
}

// arrange fills in Groups and Together.
func (r *Report) arrange() {
	r.Together = r.keys.together()
	r.Groups = make([]Group, 0, len(r.groups))
	for _, g := range r.groups {
		r.Groups = append(r.Groups, *g)
	}
	kinds := Kinds()
	slices.SortFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Route, b.Route), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Type, b.Type), slices.Compare(a.Fields, b.Fields),
		)
	})
}
