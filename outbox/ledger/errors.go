package ledger

import "errors"

// Errors callers branch on.
var (
	// ErrNotFound: there is no such event or effect.
	ErrNotFound = errors.New("not found")
	// ErrUnknownDestination: no worker registered a destination of that name.
	ErrUnknownDestination = errors.New("unknown destination")
	// ErrLate: the attempt has lost its lease to another.
	ErrLate = errors.New("the attempt has lost its lease")
)
