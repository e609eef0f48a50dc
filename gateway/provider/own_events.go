package provider

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// ownEvents describes from options the events of a sender we do not know.
type ownEvents struct {
	facts    facts
	list     string // JSON pointer to the list of events, "" for the body itself
	listed   bool   // the body has a list of events
	signedID field  // header of an id that is signed
	parts    []field
}

// eventOptions are the options that newOwnEvents reads.
var eventOptions = []string{"each", "event_id", "type", "occurred_at"}

// wholeBody is the value of Options.Each for a body that is the list itself.
const wholeBody = "body"

// newOwnEvents reads the options about events. signedID is the default of the id;
// the zero field is none.
func newOwnEvents(o Options, signedID field) (*ownEvents, error) {
	g := &ownEvents{signedID: signedID}
	if err := g.readList(o.Each); err != nil {
		return nil, err
	}
	id, err := g.id(o.EventID)
	if err != nil {
		return nil, err
	}
	kind, fallback, err := kindOf(o)
	if err != nil {
		return nil, err
	}
	if o.OccurredAt != (Clock{}) {
		if err := validateClock("occurred_at", o.OccurredAt); err != nil {
			return nil, err
		}
	}
	g.facts = facts{id: id, kind: kind, fallback: fallback, occurred: clockOf(o.OccurredAt)}
	if err := g.oneBody(); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *ownEvents) readList(each string) error {
	switch each {
	case "":
		return nil
	case wholeBody:
	default:
		if err := validatePointer("each", each); err != nil {
			return &OptionError{Field: "each", Value: each, Allowed: "must be a JSON pointer such as /events, or body when the body is the list itself"}
		}
		g.list = each
	}
	g.listed = true
	return nil
}

// id returns the rule of the key.
func (g *ownEvents) id(e EventID) (keyRule, error) {
	if e.Text() == "" {
		if g.signedID != (field{}) && !g.listed {
			g.parts = []field{g.signedID}
			return verbatim(g.signedID), nil
		}
		return nil, &OptionError{
			Field:   "event_id",
			Allowed: "required: say what makes two deliveries the same event, by one of header, pointer, form, join, fields",
		}
	}
	if err := validateEventID("event_id", e); err != nil {
		return nil, err
	}
	var rule keyRule
	switch {
	case len(e.Fields) > 0:
		required, optional := places(e.Fields), places(e.Optional)
		g.parts, rule = slices.Concat(required, optional), hashedSome(required, optional...)
	case len(e.Join) > 0:
		g.parts = places(e.Join)
		rule = composite(g.parts...)
	default:
		g.parts = []field{fieldOf(Field{Header: e.Header, Pointer: e.Pointer, Form: e.Form})}
		rule = verbatim(g.parts[0])
	}
	if g.listed && !slices.ContainsFunc(g.parts, func(f field) bool { return f.Pointer != "" }) {
		return nil, &OptionError{Field: "event_id", Value: e.Text(), Allowed: "with each, something inside the item: all items would have one id"}
	}
	return rule, nil
}

// kindOf returns the place of the type and what stands in for it.
func kindOf(o Options) (kind, fallback field, err error) {
	if o.Type == (Field{}) {
		return at("/type"), fixed(unknownType), nil
	}
	if err := validateField("type", o.Type); err != nil {
		return field{}, field{}, err
	}
	if o.Type.Fixed != "" && (!clean(o.Type.Fixed) || len(o.Type.Fixed) > maxText) {
		return field{}, field{}, &OptionError{Field: "type.fixed", Value: o.Type.Fixed, Allowed: "at most 255 bytes without control characters"}
	}
	return fieldOf(o.Type), field{}, nil
}

// oneBody refuses rules that read the body both as a form and as JSON.
func (g *ownEvents) oneBody() error {
	var forms, pointers []string
	for _, f := range append(slices.Clone(g.parts), g.facts.kind) {
		if f.Form != "" {
			forms = append(forms, f.Form)
		}
		if f.Pointer != "" && (f != g.facts.kind || g.facts.fallback == (field{})) { // not the default of the type
			pointers = append(pointers, f.Pointer)
		}
	}
	if g.facts.occurred.Pointer != "" {
		pointers = append(pointers, g.facts.occurred.Pointer)
	}
	if g.listed {
		pointers = append(pointers, cmp.Or(g.list, wholeBody))
	}
	if len(forms) > 0 && len(pointers) > 0 {
		return &OptionError{Field: "event_id", Value: forms[0] + " and " + strings.Join(pointers, " "), Allowed: "form fields or JSON pointers, not both: a body is one of them"}
	}
	return nil
}

// events finds the events of a proven request.
func (g *ownEvents) events(r *Request) ([]Event, error) {
	if g.listed {
		return each(g.list, g.facts.of).events(r)
	}
	return g.facts.events(r)
}

// headers lists the headers that describe events, in canonical form: in one
// request each may come once only.
func (g *ownEvents) headers() []string {
	var names []string
	for _, f := range append(slices.Clone(g.parts), g.facts.kind) {
		if f.Header != "" && f != g.signedID {
			names = append(names, f.Header)
		}
	}
	return names
}

// unsignedID tells whether a header that is not signed decides about the id.
func (g *ownEvents) unsignedID() bool {
	return slices.ContainsFunc(g.parts, func(f field) bool { return f.Header != "" && f != g.signedID })
}

// sample makes a body in which everything stands where the options say.
func (g *ownEvents) sample(eventType, id string, now time.Time) *Request {
	id = cmp.Or(id, freshID("evt_"))
	d := newDraft()
	if g.listed && g.list == "" {
		d.body = nil
	}
	d.put(g.inItem(at("/data")), object{"object": "demo", "number": numberOf(id), "amount": 4200, "currency": "usd"})
	// Longer pointers last, so that none is covered by a shorter one.
	parts := slices.SortedStableFunc(slices.Values(g.parts), func(a, b field) int { return cmp.Compare(len(a.Pointer), len(b.Pointer)) })
	for _, f := range parts {
		d.put(g.inItem(f), id)
	}
	d.put(g.signedID, id)
	occurred := g.facts.occurred
	if occurred.Pointer != "" {
		occurred.Pointer = g.inItem(at(occurred.Pointer)).Pointer
	}
	d.putTime(occurred, now)
	d.put(g.inItem(g.facts.kind), cmp.Or(eventType, "demo.created"))
	return d.request()
}

// inItem is the place of f in a body with one event.
func (g *ownEvents) inItem(f field) field {
	if g.listed && f.Pointer != "" {
		f.Pointer = g.list + "/0" + f.Pointer
	}
	return f
}

// places reads the places of a composite or hashed id. They were validated.
func places(texts []string) []field {
	fields := make([]field, len(texts))
	for i, text := range texts {
		kind, name, _ := strings.Cut(text, ":")
		switch kind {
		case "header":
			fields[i] = inHeader(name)
		case "form":
			fields[i] = inForm(name)
		default:
			fields[i] = at(text)
		}
	}
	return fields
}
