package provider

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// generic describes from options the events of a sender we do not know.
type generic struct {
	facts    facts
	list     string // JSON pointer to the list of events, "" for the body itself
	listed   bool   // the body has a list of events
	signedID Field  // header of an id that is signed
	parts    []Field
}

// eventOptions are the options that generic reads.
var eventOptions = []string{"each", "event_id", "type", "occurred_at"}

// wholeBody is the value of Options.Each for a body that is the list itself.
const wholeBody = "body"

// generic reads the options about events. signedID is the default of the id;
// the zero Field is none.
func (o Options) generic(signedID Field) (*generic, error) {
	g := &generic{signedID: signedID}
	if err := g.readList(o.Each); err != nil {
		return nil, err
	}
	id, err := g.id(o.EventID)
	if err != nil {
		return nil, err
	}
	kind, fallback, err := o.kind()
	if err != nil {
		return nil, err
	}
	if o.OccurredAt != (Clock{}) {
		if err := o.OccurredAt.validate("occurred_at"); err != nil {
			return nil, err
		}
	}
	g.facts = facts{id: id, kind: kind, fallback: fallback, occurred: o.OccurredAt}
	if err := g.oneBody(); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *generic) readList(each string) error {
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
func (g *generic) id(e EventID) (keyRule, error) {
	if e.isZero() {
		if g.signedID != (Field{}) && !g.listed {
			g.parts = []Field{g.signedID}
			return verbatim(g.signedID), nil
		}
		return nil, &OptionError{
			Field:   "event_id",
			Allowed: "required: say what makes two deliveries the same event, by one of header, pointer, form, join, fields",
		}
	}
	if err := e.validate("event_id"); err != nil {
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
		g.parts = []Field{{Header: http.CanonicalHeaderKey(e.Header), Pointer: e.Pointer, Form: e.Form}}
		rule = verbatim(g.parts[0])
	}
	if g.listed && !slices.ContainsFunc(g.parts, func(f Field) bool { return f.Pointer != "" }) {
		return nil, &OptionError{Field: "event_id", Value: e.text(), Allowed: "with each, something inside the item: all items would have one id"}
	}
	return rule, nil
}

// kind returns the place of the type and what stands in for it.
func (o Options) kind() (kind, fallback Field, err error) {
	if o.Type == (Field{}) {
		return at("/type"), fixed(unknownType), nil
	}
	if err := o.Type.validate("type"); err != nil {
		return Field{}, Field{}, err
	}
	if o.Type.Fixed != "" && (!clean(o.Type.Fixed) || len(o.Type.Fixed) > maxText) {
		return Field{}, Field{}, &OptionError{Field: "type.fixed", Value: o.Type.Fixed, Allowed: "at most 255 bytes without control characters"}
	}
	kind = o.Type
	kind.Header = http.CanonicalHeaderKey(kind.Header)
	return kind, Field{}, nil
}

// oneBody refuses rules that read the body both as a form and as JSON.
func (g *generic) oneBody() error {
	var forms, pointers []string
	for _, f := range append(slices.Clone(g.parts), g.facts.kind) {
		if f.Form != "" {
			forms = append(forms, f.Form)
		}
		if f.Pointer != "" && (f != g.facts.kind || g.facts.fallback == (Field{})) { // not the default of the type
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
func (g *generic) events(r *Request) ([]Event, error) {
	if g.listed {
		return each(g.list, g.facts.of).events(r)
	}
	return g.facts.events(r)
}

// headers lists the headers that describe events, in canonical form: in one
// request each may come once only.
func (g *generic) headers() []string {
	var names []string
	for _, f := range append(slices.Clone(g.parts), g.facts.kind) {
		if f.Header != "" && f != g.signedID {
			names = append(names, f.Header)
		}
	}
	return names
}

// unsignedID tells whether a header that is not signed decides about the id.
func (g *generic) unsignedID() bool {
	return slices.ContainsFunc(g.parts, func(f Field) bool { return f.Header != "" && f != g.signedID })
}

// sample makes a body in which everything stands where the options say.
func (g *generic) sample(eventType, id string, now time.Time) *Request {
	id = cmp.Or(id, freshID("evt_"))
	d := newDraft()
	if g.listed && g.list == "" {
		d.body = nil
	}
	d.put(g.inItem(at("/data")), object{"object": "demo", "number": numberOf(id), "amount": 4200, "currency": "usd"})
	// Longer pointers last, so that none is covered by a shorter one.
	parts := slices.SortedStableFunc(slices.Values(g.parts), func(a, b Field) int { return cmp.Compare(len(a.Pointer), len(b.Pointer)) })
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
func (g *generic) inItem(f Field) Field {
	if g.listed && f.Pointer != "" {
		f.Pointer = g.list + "/0" + f.Pointer
	}
	return f
}

// places reads the places of a composite or hashed id. They were validated.
func places(texts []string) []Field {
	fields := make([]Field, len(texts))
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

// validatePlaces refuses what places cannot read, and what stands there twice.
func validatePlaces(field string, texts []string) error {
	for i, text := range texts {
		at := field + "[" + strconv.Itoa(i) + "]"
		kind, name, _ := strings.Cut(text, ":")
		switch {
		case kind == "header":
			if err := validateHeader(at, name); err != nil {
				return err
			}
		case kind == "form" && name != "":
		default:
			if validatePointer(at, text) != nil {
				return &OptionError{Field: at, Value: text, Allowed: "must be a JSON pointer such as /data/id, or header:NAME, or form:NAME"}
			}
		}
		if slices.Contains(texts[:i], text) {
			return &OptionError{Field: field, Value: text, Allowed: "every field once"}
		}
	}
	return nil
}
