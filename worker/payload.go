package worker

import (
	"encoding/json"
	"fmt"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Payload decodes the event's JSON into a T, for handlers. Where a delivery
// carries many events, that is the part that is this one. Fields that T does not
// have are ignored, because providers may add some at any time.
func Payload[T any](e inbox.Event) (T, error) {
	var value T
	if err := json.Unmarshal(e.Payload(), &value); err != nil {
		var none T
		return none, fmt.Errorf("decode payload of %s: %w", e.EventRef, err)
	}
	return value, nil
}
