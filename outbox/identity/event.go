// Package identity identifies events and effects for applications and every other package. Tables,
// jobs and log lines use its types.
package identity

// EventRef identifies one event. Every key is scoped to its source.
type EventRef struct {
	Source  Source  `json:"source"`
	EventID EventID `json:"event_id"`
}

// String returns SOURCE/EVENT_ID.
func (r EventRef) String() string { return string(r.Source) + "/" + string(r.EventID) }
