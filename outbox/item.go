package outbox

import "github.com/hooklatch/hooklatch/outbox/payload"

// Payload is the event's own bytes: its delivery's body, or the part of it
// that Item points to.
func (e *Event) Payload() []byte { return payload.Part(e.Body, e.Item) }

// part is the event's own bytes inside body.
func (in Incoming) part(body []byte) []byte {
	if in.Part != nil {
		return in.Part
	}
	return payload.Part(body, in.Item)
}
