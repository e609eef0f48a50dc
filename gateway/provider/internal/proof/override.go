package proof

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// OverrideOptions are the options that Override reads.
var OverrideOptions = []string{"event_id", ignoreOption}

const ignoreOption = "dedup.ignore"

// Override replaces the keys of a provider's events if the options define when two deliveries are
// the same event. The events themselves, with their types and times, stay as the provider reports
// them. With dedup.ignore, a type that is in a header is part of the key, because many senders send
// one body under several types. Override sets UnsignedID if the key reads a header. Errors:
// *provider.OptionError.
func Override(p *provider.Provider, o provider.Options) error {
	rule, parts, err := ownKey(o)
	if rule == nil || err != nil {
		return err
	}
	inBody := len(o.Ignore) > 0 || slices.ContainsFunc(parts, func(f Field) bool { return f.Pointer != "" })
	p.UnsignedID = p.UnsignedID || slices.ContainsFunc(parts, func(f Field) bool { return f.Header != "" })
	find := p.Events
	p.Events = func(r *provider.Request) ([]provider.Event, error) {
		events, err := find(r)
		if err != nil || len(events) == 0 {
			return events, err
		}
		whole := &Document{R: withContent(p, r), Payload: "payload"}
		for i, e := range events {
			d := whole
			if e.Item != "" {
				item, err := whole.At(e.Item)
				if err != nil {
					return nil, err
				}
				d = whole.within(item, e.Item)
			}
			if events[i].ID, err = rule(d); err != nil {
				return nil, d.Blame(err)
			}
			if !inBody && len(events) > 1 { // otherwise all events would get the same id, from one header or form field
				events[i].ID = Join(events[i].ID, e.Item)
			}
		}
		if len(o.Ignore) > 0 {
			addUnhashedTypes(events)
		}
		return events, nil
	}
	return nil
}

// ownKey returns the options' key rule and the fields that the rule reads. The rule is nil if the
// options set none. A rule for dedup.ignore hashes the content, so its list of fields is nil.
func ownKey(o provider.Options) (KeyRule, []Field, error) {
	given := o.EventID.Text() != ""
	switch {
	case given && len(o.Ignore) > 0:
		return nil, nil, &provider.OptionError{
			Field: ignoreOption, Value: strings.Join(o.Ignore, " "), Allowed: "cannot be combined with event_id: each of them defines the key",
		}
	case len(o.Ignore) > 0:
		for _, pointer := range o.Ignore {
			if err := validatePointer(ignoreOption, pointer); err != nil {
				return nil, nil, err
			}
		}
		return contentWithout(o.Ignore), nil, nil
	case !given:
		return nil, nil, nil
	}
	if err := validateEventID("event_id", o.EventID); err != nil {
		return nil, nil, err
	}
	rule, parts := ruleOf(o.EventID)
	return rule, parts, nil
}

// ruleOf returns the rule for a validated option, and the fields that the rule reads.
func ruleOf(e provider.EventID) (KeyRule, []Field) {
	switch {
	case len(e.Fields) > 0:
		required, optional := Places(e.Fields), Places(e.Optional)
		return HashedSome(required, optional...), slices.Concat(required, optional)
	case len(e.Join) > 0:
		parts := Places(e.Join)
		return Composite(parts...), parts
	}
	field := fieldOf(provider.Field{Header: e.Header, Pointer: e.Pointer, Form: e.Form})
	return Verbatim(field), []Field{field}
}

// addUnhashedTypes adds the types that headers name to the keys of their events. Until then, such a
// key is a hash of the body alone.
func addUnhashedTypes(events []provider.Event) {
	for i, e := range events {
		if e.TypeInHeader {
			events[i].ID = HashOf(e.Type, e.ID)
		}
	}
}

// contentWithout returns a rule that hashes the event's content, except for the values at some
// pointers. In a form, a pointer such as /attempt leaves out the field called attempt.
func contentWithout(pointers []string) KeyRule {
	var fields []string
	for _, pointer := range pointers {
		if tokens := jsonpointer.Tokens(pointer); len(tokens) == 1 {
			fields = append(fields, tokens[0])
		}
	}
	content, form := Whole(pointers...), WholeForm(fields...)
	return func(d *Document) (string, error) {
		if d.around == nil && hasFields(d.R) {
			if values, err := d.Form(); err == nil && (d.Payload == "" || !values.Has(d.Payload)) {
				return form(d)
			}
		}
		return content(d)
	}
}

// withContent returns r with the body that the gateway stores for it.
func withContent(p *provider.Provider, r *provider.Request) *provider.Request {
	if p.Content == nil {
		return r
	}
	contentType, body := p.Content(r)
	if body == nil {
		return r
	}
	stored := *r
	stored.Header, stored.Body = http.Header{}, body
	maps.Copy(stored.Header, r.Header)
	stored.Header.Set("Content-Type", contentType)
	return &stored
}
