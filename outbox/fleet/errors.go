package fleet

import "errors"

// ErrServed refuses to retire a destination that a running process has.
var ErrServed = errors.New("a running process has the destination in its configuration")
