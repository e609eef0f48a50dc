//go:build !(linux || darwin || freebsd)

package family

import "errors"

var errUnsupported = errors.New("not supported on this system")

// Kill does nothing on this system.
func Kill(int) {}

// Pause always fails on this system.
func Pause(int) error { return errUnsupported }

// Resume always fails on this system.
func Resume(int) error { return errUnsupported }
