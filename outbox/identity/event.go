// Package identity is responsible for the names of events and effects: what every
// table, job and log line says when it means one of them.
package identity

// EventRef names one event: every key is scoped to its source.
type EventRef struct {
	Source  Source  `json:"source"`
	EventID EventID `json:"event_id"`
}

func (r EventRef) String() string { return string(r.Source) + "/" + string(r.EventID) }
