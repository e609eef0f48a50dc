package outbox

import "errors"

// Errors callers branch on.
var (
	// ErrNotHeld: no replay guard keeps the event back.
	ErrNotHeld = errors.New("the event is not held")
	// ErrNotReplayable: the event waits for its dispatch already, or for a person
	// to release it.
	ErrNotReplayable = errors.New("nothing to replay")
)
