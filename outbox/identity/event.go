// Package identity names events and effects for applications and every other package:
// every table, job and log line refers to them by these types.
package identity

// EventRef names one event: every key is scoped to its source.
type EventRef struct {
	Source  Source  `json:"source"`
	EventID EventID `json:"event_id"`
}

func (r EventRef) String() string { return string(r.Source) + "/" + string(r.EventID) }
