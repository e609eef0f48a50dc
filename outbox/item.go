package outbox

import (
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/outbox/jsonpointer"
)

// Payload is the event's own bytes: its delivery's body, or the part of it
// that Item points to.
func (e *Event) Payload() []byte { return partOf(e.Body, e.Item) }

// part is the event's own bytes inside body.
func (in Incoming) part(body []byte) []byte {
	if in.Part != nil {
		return in.Part
	}
	return partOf(body, in.Item)
}

// partOf returns the bytes of body that item points to, exactly as they came;
// the whole body when item is empty or points nowhere.
func partOf(body []byte, item string) []byte {
	if item == "" {
		return body
	}
	value := jsonpointer.Lookup(gjson.ParseBytes(body), item)
	if !value.Exists() {
		return body
	}
	return []byte(value.Raw)
}
