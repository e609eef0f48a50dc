package outbox

// EventRef names one event: every key is scoped to its source.
type EventRef struct {
	Source  string `json:"source"`
	EventID string `json:"event_id"`
}

func (r EventRef) String() string { return r.Source + "/" + r.EventID }
