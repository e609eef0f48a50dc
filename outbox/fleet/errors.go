package fleet

import "errors"

// ErrServed is returned by Retire for a destination in the configuration of a running process.
var ErrServed = errors.New("a running process has the destination in its configuration")
