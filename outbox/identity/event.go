// Package identity defines the types that identify events and effects, for applications and every
// other package. Tables, jobs and log lines contain their values.
package identity

// EventRef identifies one event. An EventID is unique only within its source.
type EventRef struct {
	Source  Source  `json:"source"`
	EventID EventID `json:"event_id"`
}

// String returns SOURCE/EVENT_ID.
func (r EventRef) String() string { return string(r.Source) + "/" + string(r.EventID) }
