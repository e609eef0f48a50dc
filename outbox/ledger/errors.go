package ledger

import "errors"

// The errors that callers branch on.
var (
	// ErrNotFound is returned when the event or effect does not exist, or the delivery is no longer
	// stored.
	ErrNotFound = errors.New("not found")
	// ErrUnknownDestination is returned when no worker has registered a destination with that name.
	ErrUnknownDestination = errors.New("unknown destination")
	// ErrLate is returned when the attempt has lost its lease to another attempt, or an operator
	// cancelled or parked the effect.
	ErrLate = errors.New("the attempt has lost its lease")
)
