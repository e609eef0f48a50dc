package proof

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// OwnEvents extracts the events of a sender that has no named provider, as the options define them.
type OwnEvents struct {
	facts    Facts
	list     string // JSON pointer to the event list, "" for the body itself
	listed   bool   // the body has a list of events
	signedID Field  // header of a signed id
	parts    []Field
	typed    bool // the keys are hashes of bodies; types in headers are added to such keys
}

// EventOptions are the options that NewOwnEvents reads.
var EventOptions = []string{"each", "event_id", ignoreOption, "type", "occurred_at"}

// wholeBody is the value of Options.Each for a body that is itself the list.
const wholeBody = "body"

// NewOwnEvents reads the event options. signedID is the default location of the id if a delivery is
// one event; the zero Field means no default. Errors: *provider.OptionError.
func NewOwnEvents(o provider.Options, signedID Field) (*OwnEvents, error) {
	g := &OwnEvents{signedID: signedID}
	if err := g.readList(o.Each); err != nil {
		return nil, err
	}
	id, err := g.id(o)
	if err != nil {
		return nil, err
	}
	kind, fallback, err := KindOf(o)
	if err != nil {
		return nil, err
	}
	if o.OccurredAt != (provider.Clock{}) {
		if err := validateClock("occurred_at", o.OccurredAt); err != nil {
			return nil, err
		}
	}
	g.typed = len(o.Ignore) > 0
	g.facts = Facts{ID: id, Kind: kind, Fallback: fallback, Occurred: clockOf(o.OccurredAt)}
	if err := g.oneBody(o.Type == (provider.Field{})); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *OwnEvents) readList(each string) error {
	switch each {
	case "":
		return nil
	case wholeBody:
	default:
		if err := validatePointer("each", each); err != nil {
			return &provider.OptionError{Field: "each", Value: each, Allowed: "must be a JSON pointer such as /events, or body if the body itself is the list"}
		}
		g.list = each
	}
	g.listed = true
	return nil
}

// id returns the key rule, and sets g.parts to the fields that the rule reads.
func (g *OwnEvents) id(o provider.Options) (KeyRule, error) {
	rule, parts, err := ownKey(o)
	switch {
	case err != nil:
		return nil, err
	case rule == nil && g.signedID != (Field{}) && !g.listed:
		g.parts = []Field{g.signedID}
		return Verbatim(g.signedID), nil
	case rule == nil:
		return nil, &provider.OptionError{
			Field:   "event_id",
			Allowed: "required: set one of header, pointer, form, join and fields to what identifies the event",
		}
	case len(o.Ignore) > 0:
		return rule, nil
	}
	e := o.EventID
	g.parts = parts
	if g.listed && !slices.ContainsFunc(g.parts, func(f Field) bool { return f.Pointer != "" }) {
		return nil, &provider.OptionError{Field: "event_id", Value: e.Text(), Allowed: "with each, must read a field of the item; otherwise all items have the same id"}
	}
	return rule, nil
}

// KindOf returns the location of the event's type, which is /type unless the options set another,
// and the fallback type.
func KindOf(o provider.Options) (kind, fallback Field, err error) {
	if o.Type == (provider.Field{}) {
		return At("/type"), Fixed(UnknownType), nil
	}
	if err := validateField("type", o.Type); err != nil {
		return Field{}, Field{}, err
	}
	if o.Type.Fixed != "" && (!Clean(o.Type.Fixed) || len(o.Type.Fixed) > MaxText) {
		return Field{}, Field{}, &provider.OptionError{Field: "type.fixed", Value: o.Type.Fixed, Allowed: "must be at most 255 bytes without control characters"}
	}
	return fieldOf(o.Type), Fixed(UnknownType), nil
}

// oneBody refuses options that require the body to be both a form and JSON. The default location of
// the type does not count.
func (g *OwnEvents) oneBody(defaultType bool) error {
	var forms, pointers []string
	for _, f := range append(slices.Clone(g.parts), g.facts.Kind) {
		if f.Form != "" {
			forms = append(forms, f.Form)
		}
		if f.Pointer != "" && !(f == g.facts.Kind && defaultType) {
			pointers = append(pointers, f.Pointer)
		}
	}
	if g.facts.Occurred.Pointer != "" {
		pointers = append(pointers, g.facts.Occurred.Pointer)
	}
	if g.listed {
		pointers = append(pointers, cmp.Or(g.list, wholeBody))
	}
	if len(forms) > 0 && len(pointers) > 0 {
		return &provider.OptionError{Field: "event_id", Value: forms[0] + " and " + strings.Join(pointers, " "), Allowed: "must be form fields or JSON pointers, not both: a body is either a form or JSON"}
	}
	return nil
}

// Events extracts the events from a verified request.
func (g *OwnEvents) Events(r *provider.Request) ([]provider.Event, error) {
	rule := EventRule(g.facts.Of)
	if g.listed {
		rule = Each(g.list, g.facts.Of)
	}
	events, err := rule.Events(r)
	if err == nil && g.typed {
		addUnhashedTypes(events)
	}
	return events, err
}

// Headers lists the unsigned headers that describe events, in canonical form. Each may appear only
// once in a request.
func (g *OwnEvents) Headers() []string {
	var names []string
	for _, f := range append(slices.Clone(g.parts), g.facts.Kind) {
		if f.Header != "" && f != g.signedID {
			names = append(names, f.Header)
		}
	}
	return names
}

// UnsignedID reports whether an unsigned header determines the id.
func (g *OwnEvents) UnsignedID() bool {
	return slices.ContainsFunc(g.parts, func(f Field) bool { return f.Header != "" && f != g.signedID })
}

// Sample builds a request with every value at the location that the options set.
func (g *OwnEvents) Sample(eventType, id string, now time.Time) *provider.Request {
	id = cmp.Or(id, FreshID("evt_"))
	d := newDraft()
	if g.listed && g.list == "" {
		d.body = nil
	}
	d.put(g.inItem(At("/data")), Object{"object": "demo", "number": NumberOf(id), "amount": 4200, "currency": "usd"})
	// Longer pointers come last, so that a shorter one does not overwrite them.
	parts := slices.SortedStableFunc(slices.Values(g.parts), func(a, b Field) int { return cmp.Compare(len(a.Pointer), len(b.Pointer)) })
	for _, f := range parts {
		d.put(g.inItem(f), id)
	}
	d.put(g.signedID, id)
	occurred := g.facts.Occurred
	if occurred.Pointer != "" {
		occurred.Pointer = g.inItem(At(occurred.Pointer)).Pointer
	}
	d.putTime(occurred, now)
	d.put(g.inItem(g.facts.Kind), cmp.Or(eventType, "demo.created"))
	return d.request()
}

// inItem returns f's location in a body with one event.
func (g *OwnEvents) inItem(f Field) Field {
	if g.listed && f.Pointer != "" {
		f.Pointer = g.list + "/0" + f.Pointer
	}
	return f
}

// Places converts the options for a composite or hashed id, which are already validated, to fields.
func Places(texts []string) []Field {
	fields := make([]Field, len(texts))
	for i, text := range texts {
		kind, name, _ := strings.Cut(text, ":")
		switch kind {
		case "header":
			fields[i] = InHeader(name)
		case "form":
			fields[i] = InForm(name)
		default:
			fields[i] = At(text)
		}
	}
	return fields
}
