package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// MaxNameLen bounds the name of a run, in bytes.
const MaxNameLen = 200

// Order is what a person wants to be done to many: to the events that Events selects, to
// the effects that Effects does, or to the refused deliveries that Quarantine does.
type Order struct {
	Action  ledger.Action
	Effects find.Effects // States names at least one
	EffectTerms
	Events find.Events
	EventTerms
	Quarantine quarantine.Filter

	Name string // may be empty
	// PerSecond bounds how many are changed in a second. 0: as fast as it goes.
	PerSecond float64
	// Most is how many it may select: more are refused. 0: any number.
	Most int64
	// Counted is what a preview has counted to the end, for Run.Total. 0: nobody did.
	Counted int64
}

// EffectTerms say how an action on effects is done, and where its selection ends.
type EffectTerms struct {
	// AsOf leaves out effects that were made later, and those that came to their state
	// later: a run is about what its preview counted, and does not take up what it has set
	// going itself. Zero is now, by the database's clock.
	AsOf time.Time `json:"as_of"`
	// InDoubt takes effects too that may have been applied. Without it they are only
	// counted. An order that takes them has a reason.
	InDoubt bool `json:"in_doubt,omitempty"`
	// DoubtSince has effects that are parked count as perhaps applied since then, unless
	// they are in doubt for longer. Zero: they are as they were.
	DoubtSince time.Time `json:"doubt_since,omitzero"`
}

// EventTerms say how an action on events is done, and where its selection ends.
type EventTerms struct {
	// Last is the place of the last event that is taken: those accepted later are not part
	// of the run. 0: the newest of now.
	Last int64 `json:"last"`
	// NewKeys makes new effects of an event under new keys, which receivers apply again.
	NewKeys bool `json:"new_keys,omitempty"`
	// Route is the one route of an event that is dispatched again. Empty: all that take it.
	Route string `json:"route,omitempty"`
	// Cancel gives up what is unfinished of an event before it is erased. Without it such
	// events are left alone.
	Cancel bool `json:"cancel,omitempty"`
}

// OfEvents tells whether the order is about events.
func (o Order) OfEvents() bool { return verbOf(o.Action).events != nil }

// Source is the one that the order is about; empty: any.
func (o Order) Source() identity.Source {
	switch {
	case o.OfEvents():
		return o.Events.Source
	case o.OfRefused():
		return o.Quarantine.Source
	}
	return o.Effects.Source
}

// Content is what the order looks for in events.
func (o Order) Content() find.Content {
	if o.OfEvents() {
		return o.Events.Content
	}
	return o.Effects.Content
}

func (o Order) validate() error {
	switch {
	case verbOf(o.Action).do == nil:
		return fmt.Errorf("%s is no action on many", o.Action)
	case len(o.Name) > MaxNameLen:
		return fmt.Errorf("the name of a run has %d bytes at most", MaxNameLen)
	case o.PerSecond < 0:
		return errors.New("a run cannot go backwards: its pace is above 0, or 0 for as fast as it goes")
	case o.Most < 0:
		return errors.New("a run concerns no negative number")
	case o.OfEvents():
		return errors.Join(o.validateEvents(), o.Events.Span.Validate())
	case o.OfRefused():
		return nil
	}
	return errors.Join(o.validateEffects(), o.Effects.Span.Validate())
}

func (o Order) validateEvents() error {
	v := verbOf(o.Action)
	if o.Events.State != "" && !slices.Contains(v.events, o.Events.State) {
		return fmt.Errorf("%s is not possible for events that are %s, only for those that are %s", o.Action, o.Events.State, inWords(v.events))
	}
	if o.Events.State == inbox.Failed && o.Route != "" {
		return errors.New("an event whose dispatch failed is not replayed by one route alone: it failed for all of them")
	}
	return nil
}

func (o Order) validateEffects() error {
	allowed := ledger.StatesFor(o.Action)
	if len(o.Effects.States) == 0 {
		return fmt.Errorf("the selection names no state; %s is possible for those that are %s", o.Action, inWords(allowed))
	}
	for _, state := range o.Effects.States {
		if !slices.Contains(allowed, state) {
			return fmt.Errorf("%s is not possible for effects that are %s, only for those that are %s", o.Action, state, inWords(allowed))
		}
	}
	if o.Effects.Event != (identity.EventRef{}) {
		return errors.New("a run is not about the effects of one event: name them one by one, or replay the event")
	}
	return nil
}

func inWords[T ~string](states []T) string {
	words := make([]string, len(states))
	for i, state := range states {
		words[i] = string(state)
	}
	return strings.Join(words, ", ")
}

// effectsRecord and eventsRecord are a selection as a run keeps it, and as programs are
// shown it.
type (
	effectsRecord struct {
		find.Effects
		EffectTerms
	}
	eventsRecord struct {
		find.Events
		EventTerms
	}
)

// Record is the selection as a run and the operator log keep it, and as programs are shown
// it.
func (o Order) Record() (json.RawMessage, error) {
	var record any
	switch {
	case o.OfEvents():
		o.Route = safetext.Storable(o.Route)
		record = eventsRecord{find.Storable(o.Events), o.EventTerms}
	case o.OfRefused():
		o.Quarantine.Source = identity.Source(safetext.Storable(string(o.Quarantine.Source)))
		o.Quarantine.Reason = safetext.Storable(o.Quarantine.Reason)
		record = o.Quarantine
	default:
		record = effectsRecord{find.Storable(o.Effects), o.EffectTerms}
	}
	text, err := plainjson.Marshal(record)
	if err != nil { // a year beyond 9999
		return nil, fmt.Errorf("record the selection: %w", err)
	}
	return text, nil
}

// Concealed is the order as the operator log keeps it, and a run that has ended: without
// what its condition looks for. RequestID is that of the order.
func (o Order) Concealed(requestID string) Order {
	o.Effects.Content, _ = o.Effects.Content.Concealed(requestID)
	o.Events.Content, _ = o.Events.Content.Concealed(requestID)
	return o
}

// selecting is the order with the selection that Record wrote.
func (o Order) selecting(text json.RawMessage) (Order, error) {
	if o.OfEvents() {
		var r eventsRecord
		if err := json.Unmarshal(text, &r); err != nil {
			return o, fmt.Errorf("read a selection of events: %w", err)
		}
		o.Events, o.EventTerms = r.Events, r.EventTerms
		return o, nil
	}
	if o.OfRefused() {
		if err := json.Unmarshal(text, &o.Quarantine); err != nil {
			return o, fmt.Errorf("read a selection of refused deliveries: %w", err)
		}
		return o, nil
	}
	var r effectsRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return o, fmt.Errorf("read a selection of effects: %w", err)
	}
	o.Effects, o.EffectTerms = r.Effects, r.EffectTerms
	return o, nil
}

// Words say what the order selects, and what it does to it.
func (o Order) Words() string {
	text, given := verbOf(o.Action).word+" effects", find.Given(o.Effects)
	var of []string
	switch {
	case o.OfEvents():
		text, given = verbOf(o.Action).word+" events", find.Given(o.Events)
	case o.OfRefused():
		text = verbOf(o.Action).word + " refused deliveries"
		if o.Quarantine.Source != "" {
			of = append(of, "source "+string(o.Quarantine.Source))
		}
		if o.Quarantine.Reason != "" {
			of = append(of, "refused for "+o.Quarantine.Reason)
		}
	}
	if o.Route != "" {
		of = append(of, "route "+o.Route)
	}
	for _, g := range given {
		switch {
		case g.Name == "since" || g.Name == "until":
		case g.Many:
			of = append(of, g.Name+" "+strings.ReplaceAll(g.Text, ",", " or "))
		default:
			of = append(of, g.Name+" "+g.Text)
		}
	}
	if len(of) > 0 {
		text += ": " + strings.Join(of, ", ")
	}
	return safetext.Storable(text)
}

// noEvent is the place of the last event where there is none.
const noEvent = -1

// fixed is the order with its end set besides.
func (r *Runs) fixed(ctx context.Context, o Order) (Order, error) {
	if err := o.validate(); err != nil {
		return o, err
	}
	var err error
	switch {
	case o.OfRefused():
		if o.Quarantine.Until.IsZero() {
			o.Quarantine.Until, err = r.opts.Ledger.Now(ctx)
		}
	case !o.OfEvents() && o.AsOf.IsZero():
		o.AsOf, err = r.opts.Ledger.Now(ctx)
	case o.OfEvents() && o.Last == 0:
		if o.Last, err = r.opts.Inbox.Newest(ctx); o.Last == 0 {
			o.Last = noEvent
		}
	}
	return o, err
}

// page finds the next ones that the order selects, from a place on.
func (r *Runs) page(ctx context.Context, o Order, from find.Cursor) (find.Page[find.Found], error) {
	switch {
	case o.OfRefused():
		return r.refusedPage(ctx, o, from)
	case !o.OfEvents():
		return r.opts.Finder.EffectsToChange(ctx, o.Effects, from, o.AsOf)
	}
	v := verbOf(o.Action)
	states := v.events
	if o.Route != "" { // what failed, failed for all routes
		states = slices.DeleteFunc(slices.Clone(states), func(s inbox.Outcome) bool { return s == inbox.Failed })
	}
	return r.opts.Finder.EventsToChange(ctx, o.Events.In(states...), from, o.Last, v.unredacted)
}
