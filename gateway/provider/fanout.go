package provider

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// eventRule finds the events of a document, in order. facts.of is one; each,
// eachIfAny and allOf are made of others. Errors: *EventError.
type eventRule func(d *document) ([]Event, error)

// events applies the rule to a request.
func (rule eventRule) events(r *Request) ([]Event, error) { return rule(&document{r: r}) }

// each finds the events of a list: what item says of every one of its items.
// The list stands at a JSON pointer, "" is the body (or the item around it)
// itself; the pointers of item start at the item, those with up further out.
// An empty list has no event, a missing one is an error. An item of which no
// event can be made fails the whole delivery: nothing of it is stored.
//
//	each("/events", facts{id: verbatim(at("/id")), kind: at("/type")}.of)
//	each("/entry", each("/changes", facts{id: hashed(at("/id").up(1), at("")), kind: at("/field")}.of))
func each(list string, item eventRule) eventRule { return listed(list, item, false) }

// eachIfAny is each for a list that may be missing.
func eachIfAny(list string, item eventRule) eventRule { return listed(list, item, true) }

// allOf finds the events of several rules, one after the other.
func allOf(rules ...eventRule) eventRule {
	return func(d *document) ([]Event, error) {
		var events []Event
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

func listed(list string, item eventRule, optional bool) eventRule {
	return func(d *document) ([]Event, error) {
		items, err := d.at(list)
		switch {
		case err != nil:
			return nil, d.blame(err)
		case optional && (!items.Exists() || items.Type == gjson.Null):
			return nil, nil
		case !items.IsArray():
			return nil, d.blame(&EventError{Message: noList(list, items.Exists())})
		}
		var events []Event
		i := 0
		items.ForEach(func(_, value gjson.Result) bool {
			var found []Event
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
