package outbox

import "github.com/hooklatch/hooklatch/internal/payload"

// part returns the event's own bytes inside body.
func (in Incoming) part(body []byte) []byte {
	if in.Part != nil {
		return in.Part
	}
	return payload.Part(body, in.Item)
}
