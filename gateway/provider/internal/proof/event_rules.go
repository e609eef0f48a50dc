package proof

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// EventRule finds the events of a document, in order. facts.of is one; each,
// eachIfAny and allOf are made of others. Errors: *EventError.
type EventRule func(d *Document) ([]provider.Event, error)

// Events applies the rule to a request.
func (rule EventRule) Events(r *provider.Request) ([]provider.Event, error) {
	return rule(&Document{R: r})
}

// Each finds the events of a list: what item says of every one of its items.
// The list stands at a JSON pointer, "" is the body (or the item around it)
// itself; the pointers of item start at the item, those with up further out.
// An empty list has no event, a missing one is an error. An item of which no
// event can be made fails the whole delivery: nothing of it is stored.
//
//	each("/events", facts{id: verbatim(at("/id")), kind: at("/type")}.of)
//	each("/entry", each("/changes", facts{id: hashed(at("/id").up(1), at("")), kind: at("/field")}.of))
func Each(list string, item EventRule) EventRule { return listed(list, item, false) }

// EachIfAny is each for a list that may be missing.
func EachIfAny(list string, item EventRule) EventRule { return listed(list, item, true) }

// AllOf finds the events of several rules, one after the other.
func AllOf(rules ...EventRule) EventRule {
	return func(d *Document) ([]provider.Event, error) {
		var events []provider.Event
		for _, rule := range rules {
			found, err := rule(d)
			if err != nil {
				return nil, err
			}
			events = append(events, found...)
		}
		return events, nil
	}
}

func listed(list string, item EventRule, optional bool) EventRule {
	return func(d *Document) ([]provider.Event, error) {
		items, err := d.At(list)
		switch {
		case err != nil:
			return nil, d.Blame(err)
		case optional && (!items.Exists() || items.Type == gjson.Null):
			return nil, nil
		case !items.IsArray():
			return nil, d.Blame(&provider.EventError{Message: noList(list, items.Exists())})
		}
		var events []provider.Event
		i := 0
		items.ForEach(func(_, value gjson.Result) bool {
			var found []provider.Event
			if found, err = item(d.within(value, list+"/"+strconv.Itoa(i))); err != nil {
				return false
			}
			events = append(events, found...)
			i++
			return true
		})
		if err != nil {
			return nil, err
		}
		return events, nil
	}
}

func noList(pointer string, exists bool) string {
	switch {
	case pointer == "":
		return "the body is no list of events"
	case exists:
		return pointer + " is no list of events"
	}
	return "the body has no list of events at " + pointer
}
