package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/condition"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// MaxNameLen bounds the name of a run, in bytes.
const MaxNameLen = 200

// Order is what a person wants to be done to many. It is about effects, or about events
// when the action is ledger.ActionReplayEvent.
type Order struct {
	Action  ledger.Action
	Effects ledger.EffectSelection // Match is made from When
	Events  EventSelection

	Name string // may be empty
	// PerSecond bounds how many are changed in a second. 0: as fast as it goes.
	PerSecond float64
	// Most is how many it may select: more are refused. 0: any number.
	Most int64
	// Counted is what a preview has counted to the end, for Run.Total. 0: nobody did.
	Counted int64
}

// EventSelection selects the events of a run. Empty fields take all that can be replayed.
type EventSelection struct {
	Source identity.Source
	Type   string // or a pattern of package wildcard
	State  inbox.Outcome
	From   time.Time // received at or after
	Until  time.Time // received before
	When   string    // condition on the event
	// Last is the place of the last event that is taken: those accepted later are not part
	// of the run. 0: the newest of now.
	Last int64
	// NewKeys makes new effects under new keys, which receivers apply again.
	NewKeys bool
	// Route is the one route that is dispatched again. Empty: all that take the events.
	Route string
}

// OfEvents tells whether the order is about events.
func (o Order) OfEvents() bool { return o.Action == ledger.ActionReplayEvent }

// When is the condition on events.
func (o Order) When() string {
	if o.OfEvents() {
		return o.Events.When
	}
	return o.Effects.When
}

func (o Order) validate() error {
	switch {
	case len(o.Name) > MaxNameLen:
		return fmt.Errorf("the name of a run has %d bytes at most", MaxNameLen)
	case o.PerSecond < 0:
		return errors.New("a run cannot go backwards: its pace is above 0, or 0 for as fast as it goes")
	case o.Most < 0:
		return errors.New("a run concerns no negative number")
	case !o.OfEvents():
		return o.Effects.Validate(o.Action)
	case o.Events.State != "" && o.Events.State != inbox.Dispatched && o.Events.State != inbox.Skipped && o.Events.State != inbox.Failed:
		return fmt.Errorf("events that are %s are not replayed, only those that are dispatched, skipped or failed", o.Events.State)
	case !o.Events.From.IsZero() && !o.Events.Until.IsZero() && !o.Events.From.Before(o.Events.Until):
		return errors.New("the selection ends before it begins")
	}
	return nil
}

// eventsRecord is a selection of events as a run keeps it.
type eventsRecord struct {
	Source  identity.Source `json:"source,omitempty"`
	Type    string          `json:"type,omitempty"`
	State   inbox.Outcome   `json:"state,omitempty"`
	From    time.Time       `json:"since,omitzero"`
	Until   time.Time       `json:"until,omitzero"`
	When    string          `json:"when,omitempty"`
	Last    int64           `json:"last"`
	NewKeys bool            `json:"new_keys,omitempty"`
	Route   string          `json:"route,omitempty"`
}

// Record is the selection as a run and the operator log keep it, and as programs are shown
// it.
func (o Order) Record() (json.RawMessage, error) {
	if !o.OfEvents() {
		return o.Effects.Record(), nil
	}
	e := o.Events
	text, err := plainjson.Marshal(eventsRecord{
		Source: identity.Source(safetext.Storable(string(e.Source))), Type: safetext.Storable(e.Type), State: e.State,
		From: e.From, Until: e.Until, When: safetext.Storable(e.When), Last: e.Last, NewKeys: e.NewKeys, Route: safetext.Storable(e.Route),
	})
	if err != nil { // a year beyond 9999
		return nil, fmt.Errorf("record the selection: %w", err)
	}
	return text, nil
}

// Concealed is the order as the operator log keeps it, and a run that has ended: without
// what its condition looks for. RequestID is that of the order.
func (o Order) Concealed(requestID string) Order {
	o.Effects = o.Effects.Concealed(requestID)
	o.Events.When, _ = condition.Concealed(o.Events.When, requestID)
	return o
}

// selecting is the order with the selection that Record wrote.
func (o Order) selecting(text json.RawMessage) (Order, error) {
	if !o.OfEvents() {
		var err error
		o.Effects, err = ledger.ReadSelection(text)
		return o, err
	}
	var e eventsRecord
	if err := json.Unmarshal(text, &e); err != nil {
		return o, fmt.Errorf("read a selection of events: %w", err)
	}
	o.Events = EventSelection(e)
	return o, nil
}

// Words say what the order selects, and what it does to it.
func (o Order) Words() string {
	verb := map[ledger.Action]string{
		ledger.ActionReplayEvent: "replay", ledger.ActionRetryEffect: "retry", ledger.ActionParkEffect: "park", ledger.ActionCancelEffect: "cancel",
	}[o.Action]
	var of []string
	add := func(word, value string) {
		if value != "" {
			of = append(of, word+" "+value)
		}
	}
	what := "effects"
	if o.OfEvents() {
		what = "events"
		add("route", o.Events.Route)
		add("state", string(o.Events.State))
		add("source", string(o.Events.Source))
		add("type", o.Events.Type)
		add("when", o.Events.When)
	} else {
		states := make([]string, len(o.Effects.States))
		for i, s := range o.Effects.States {
			states[i] = string(s)
		}
		add("state", strings.Join(states, " or "))
		add("destination", o.Effects.Destination)
		add("route", o.Effects.Route)
		add("source", string(o.Effects.Source))
		add("type", o.Effects.Type)
		add("when", o.Effects.When)
	}
	text := verb + " " + what
	if len(of) > 0 {
		text += ": " + strings.Join(of, ", ")
	}
	return safetext.Storable(text)
}

// compiled is the order with its condition read, and what that says of events; nil where
// there is none.
func (r *Runs) compiled(o Order) (Order, func(*inbox.Event) (bool, error), error) {
	o.Effects.Match = nil
	if o.When() == "" {
		return o, nil, nil
	}
	match, err := r.opts.Condition(o.When())
	if err != nil {
		return o, nil, fmt.Errorf("condition: %w", err)
	}
	if !o.OfEvents() {
		o.Effects.Match = r.opts.Inbox.Matching(match)
	}
	return o, match, nil
}

// noEvent is the place of the last event where there is none.
const noEvent = -1

// fixed is the order with its end set besides.
func (r *Runs) fixed(ctx context.Context, o Order) (Order, func(*inbox.Event) (bool, error), error) {
	if err := o.validate(); err != nil {
		return o, nil, err
	}
	o, match, err := r.compiled(o)
	switch {
	case err != nil:
	case !o.OfEvents():
		o.Effects, err = r.opts.Ledger.Fixed(ctx, o.Effects)
	case o.Events.Last == 0:
		if o.Events.Last, err = r.opts.Inbox.Newest(ctx); o.Events.Last == 0 {
			o.Events.Last = noEvent
		}
	}
	return o, match, err
}

// filter are the events of the order.
func (o Order) filter(match func(*inbox.Event) (bool, error)) inbox.ReplayFilter {
	e := o.Events
	return inbox.ReplayFilter{Source: e.Source, Type: e.Type, State: e.State, Route: e.Route, From: e.From, Until: e.Until, Match: match}
}
