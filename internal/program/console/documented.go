package console

import (
	"slices"

	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// documented returns the filters and verbs for the OpenAPI document.
func documented(base, version string) api.Console {
	events, effects := find.Fields[find.Events](), find.Fields[find.Effects]()
	either := slices.Clone(events)
	for _, f := range effects {
		if !slices.ContainsFunc(events, func(e find.Field) bool { return e.Name == f.Name }) {
			either = append(either, f)
		}
	}
	for i, f := range either {
		switch f.Name { // a parameter for events and effects needs a text that fits both
		case "state":
			either[i].Words, either[i].Help = nil, "in this state"
		case "route":
			either[i].Help = "of this 'route', in a run of effects; a run of events dispatches only this route"
		}
	}
	words := map[string][]string{"actions-of-runs": texts(runs.Actions())}
	for _, v := range desk.Verbs() {
		if v.Own {
			continue
		}
		words["verbs-of-"+string(v.On)] = append(words["verbs-of-"+string(v.On)], v.Name)
		if v.Many() {
			words["verbs-of-many"] = append(words["verbs-of-many"], v.Name)
		}
	}
	return api.Console{
		Base: base, Version: version, Words: words,
		Filters: map[string][]find.Field{
			"get /api/events": events, "get /api/effects": effects, "get /api/audit": find.Fields[find.Actions](),
			"get /api/runs/new": either, "post /api/runs/new": either,
		},
	}
}
