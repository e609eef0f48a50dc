package life

import (
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/route"
)

// History is the part of an effect's JSON that lists omit.
type History struct {
	Attempts    []ledger.Attempt    `json:"attempts,omitempty"`
	Transitions []ledger.Transition `json:"transitions,omitempty"`
	// ResentFrom is the key of the effect that this effect repeats, and ResentAs are the keys of
	// the effects that repeat this effect.
	ResentFrom string   `json:"resent_from,omitzero"`
	ResentAs   []string `json:"resent_as,omitempty"`
}

// Data returns the JSON of one effect.
func (e Effect) Data() plainjson.Joined {
	return plainjson.Joined{e.Effect, History{e.Attempts, e.Transitions, e.ResentFrom(), e.ResentAs}}
}

// eventLife is the part of an event's JSON that lists omit.
type eventLife struct {
	TraceID string                  `json:"trace_id,omitzero"`
	Effects []plainjson.Joined      `json:"effects,omitempty"`
	Replays []inbox.EventReplay     `json:"replays,omitempty"`
	Actions []ledger.OperatorAction `json:"actions,omitempty"`
	// Routes contains the result of each current route for the event.
	Routes      []route.Explanation `json:"routes,omitempty"`
	OtherRoutes bool                `json:"dispatched_by_other_routes,omitzero"`
}

// Data returns the JSON of one event.
func (l *Event) Data() plainjson.Joined {
	more := eventLife{TraceID: TraceOf(l.Event), Replays: l.Replays, Actions: l.Actions, Routes: l.Routes, OtherRoutes: l.OtherRoutes}
	for i, link := range l.Links {
		more.Effects = append(more.Effects, plainjson.Joined{link, History{Attempts: l.Effects[i].Attempts, Transitions: l.Effects[i].Transitions, ResentFrom: l.Effects[i].ResentFrom()}})
	}
	return plainjson.Joined{l.Event, more}
}
