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

// MaxNameLen limits a run's name, in bytes.
const MaxNameLen = 200

// Order is the request for a bulk run. Its targets are the events selected by Events, the effects
// selected by Effects, or the refused deliveries selected by Quarantine.
type Order struct {
	Action  ledger.Action
	Effects find.Effects // States contains at least one state
	EffectTerms
	Events find.Events
	EventTerms
	Quarantine quarantine.Filter

	Name string // may be empty
	// PerSecond limits the changes per second. 0: no limit.
	PerSecond float64
	// Most limits the number of selected targets; an Order that selects more is refused. 0: no
	// limit.
	Most int64
	// Counted is the complete count of a preview, for Run.Total. 0: not counted.
	Counted int64
}

// EffectTerms define how an action is applied to effects, and where its selection ends.
type EffectTerms struct {
	// AsOf excludes effects created later, and effects that finished later. A run thus changes the
	// effects that its preview counted, and not the results of its own actions. Zero: now, by the
	// database's clock.
	AsOf time.Time `json:"as_of"`
	// InDoubt includes effects that may have been applied. Without it they are only counted. An
	// Order that includes them requires a reason.
	InDoubt bool `json:"in_doubt,omitempty"`
	// DoubtSince is the time since which the effects that the run parks may have been applied. The
	// run stores this time with each of these effects, unless an attempt has already put the effect
	// in doubt. Zero: the run stores no time.
	DoubtSince time.Time `json:"doubt_since,omitzero"`
}

// EventTerms define how an action is applied to events, and where its selection ends.
type EventTerms struct {
	// Last is the position of the last included event. The run excludes events accepted later. 0:
	// the newest event now.
	Last int64 `json:"last"`
	// NewKeys creates an event's new effects under new keys. Receivers apply such effects again.
	NewKeys bool `json:"new_keys,omitempty"`
	// Route is the only route for which an event is dispatched again. Empty: all matching routes.
	Route string `json:"route,omitempty"`
	// Cancel cancels an event's unfinished effects, and drops an event that is not dispatched yet,
	// before the event is erased. Without Cancel, a run leaves such events unchanged.
	Cancel bool `json:"cancel,omitempty"`
}

// OfEvents reports whether the targets are events.
func (o Order) OfEvents() bool { return verbOf(o.Action).events != nil }

// Source returns the only source that the Order covers; empty: any source.
func (o Order) Source() identity.Source {
	switch {
	case o.OfEvents():
		return o.Events.Source
	case o.OfRefused():
		return o.Quarantine.Source
	}
	return o.Effects.Source
}

// Content returns the Order's condition on the content of events.
func (o Order) Content() find.Content {
	if o.OfEvents() {
		return o.Events.Content
	}
	return o.Effects.Content
}

func (o Order) validate() error {
	switch {
	case verbOf(o.Action).do == nil:
		return fmt.Errorf("%s is not a bulk action", o.Action)
	case len(o.Name) > MaxNameLen:
		return fmt.Errorf("the name of a run may have at most %d bytes", MaxNameLen)
	case o.PerSecond < 0:
		return errors.New("the pace of a run must be above 0 a second, or 0 for no limit")
	case o.Most < 0:
		return errors.New("the limit of a run must not be negative")
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
		return fmt.Errorf("%s is not possible for events that are %s, only for events that are %s", o.Action, o.Events.State, inWords(v.events))
	}
	if o.Events.State == inbox.Failed && o.Route != "" {
		return errors.New("an event whose dispatch failed cannot be replayed for a single route: it failed for all routes")
	}
	return nil
}

func (o Order) validateEffects() error {
	allowed := ledger.StatesFor(o.Action)
	if len(o.Effects.States) == 0 {
		return fmt.Errorf("the filter names no state; %s is possible for effects that are %s", o.Action, inWords(allowed))
	}
	for _, state := range o.Effects.States {
		if !slices.Contains(allowed, state) {
			return fmt.Errorf("%s is not possible for effects that are %s, only for effects that are %s", o.Action, state, inWords(allowed))
		}
	}
	if o.Effects.Event != (identity.EventRef{}) {
		return errors.New("a run cannot select the effects of one event: name them individually, or replay the event")
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

// effectsRecord and eventsRecord are the JSON forms of a selection, in a stored run and for API
// clients.
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

// Record returns the selection as JSON, for the stored run, the operator log and API clients.
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
	if err != nil { // encoding fails for a year beyond 9999
		return nil, fmt.Errorf("encode the filter: %w", err)
	}
	return text, nil
}

// Concealed returns the Order's form in the operator log and in ended runs. Hashes replace the
// values that its condition searches for. The hashes are salted with requestID, the id of the
// request.
func (o Order) Concealed(requestID string) Order {
	o.Effects.Content, _ = o.Effects.Content.Concealed(requestID)
	o.Events.Content, _ = o.Events.Content.Concealed(requestID)
	return o
}

// selecting returns the Order with the selection that Record wrote.
func (o Order) selecting(text json.RawMessage) (Order, error) {
	if o.OfEvents() {
		var r eventsRecord
		if err := json.Unmarshal(text, &r); err != nil {
			return o, fmt.Errorf("decode a filter of events: %w", err)
		}
		o.Events, o.EventTerms = r.Events, r.EventTerms
		return o, nil
	}
	if o.OfRefused() {
		if err := json.Unmarshal(text, &o.Quarantine); err != nil {
			return o, fmt.Errorf("decode a filter of refused deliveries: %w", err)
		}
		return o, nil
	}
	var r effectsRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return o, fmt.Errorf("decode a filter of effects: %w", err)
	}
	o.Effects, o.EffectTerms = r.Effects, r.EffectTerms
	return o, nil
}

// Words describes the Order's selection and action.
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

// noEvent is the Last of an Order if no event exists. The selection then stays empty, even if
// events arrive later.
const noEvent = -1

// fixed validates an Order and fills in the end of its selection, if the Order has none.
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

// page finds the next targets of the Order, starting at a position.
func (r *Runs) page(ctx context.Context, o Order, from find.Cursor) (find.Page[find.Found], error) {
	switch {
	case o.OfRefused():
		return r.refusedPage(ctx, o, from)
	case !o.OfEvents():
		return r.opts.Finder.EffectsToChange(ctx, o.Effects, from, o.AsOf)
	}
	v := verbOf(o.Action)
	states := v.events
	if o.Route != "" { // a failed dispatch cannot be replayed for one route
		states = slices.DeleteFunc(slices.Clone(states), func(s inbox.Outcome) bool { return s == inbox.Failed })
	}
	if from.IsExported() {
		return r.opts.Finder.ExportedToChange(ctx, o.Events.In(states...), from, o.Last)
	}
	page, err := r.opts.Finder.EventsToChange(ctx, o.Events.In(states...), from, o.Last, v.unredacted)
	if err == nil && !page.More && v.exported && r.opts.Finder.HasExport() {
		page.Next, page.More = find.FirstExported, true
	}
	return page, err
}
