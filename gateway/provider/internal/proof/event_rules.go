package proof

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// EventRule extracts a document's events, in order. Facts.Of yields one event; Each, EachIfAny
// and AllOf combine other rules. Errors: *EventError.
type EventRule func(d *Document) ([]provider.Event, error)

// Events applies the rule to a request.
func (rule EventRule) Events(r *provider.Request) ([]provider.Event, error) {
	return rule(&Document{R: r})
}

// Each returns a rule that applies the given rule to every item of a list and joins the resulting
// events. list is the JSON pointer to the list, or "" if the body (or the surrounding item) is
// itself the list. Pointers in the given rule start at the list item; pointers with Up start
// further out. An empty list has no events; a missing list is an error. If the given rule returns
// an error for any list item, the whole delivery is refused.
//
//	Each("/events", Facts{ID: Verbatim(At("/id")), Kind: At("/type")}.Of)
//	Each("/entry", Each("/changes", Facts{ID: Hashed(At("/id").Up(1), At("")), Kind: At("/field")}.Of))
func Each(list string, item EventRule) EventRule { return listed(list, item, false) }

// EachIfAny is like Each, but a list that is missing or null has no events.
func EachIfAny(list string, item EventRule) EventRule { return listed(list, item, true) }

// AllOf applies several rules and joins their events in order.
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
		return "the body is not a list of events"
	case exists:
		return pointer + " is not a list of events"
	}
	return "the body has no list of events at " + pointer
}
