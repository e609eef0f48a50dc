package ledger

import "errors"

// Errors callers branch on.
var (
	// ErrNotFound: there is no such event or effect.
	ErrNotFound = errors.New("not found")
	// ErrUnknownDestination: no worker registered a destination of that name.
	ErrUnknownDestination = errors.New("unknown destination")
	// ErrServed refuses to retire a destination that a running process has.
	ErrServed = errors.New("a running process has the destination in its configuration")
	// ErrLate: the attempt has lost its lease to another.
	ErrLate = errors.New("the attempt has lost its lease")
)
