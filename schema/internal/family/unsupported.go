//go:build !(linux || darwin || freebsd)

package family

import "errors"

var errUnsupported = errors.New("not supported on this system")

// Kill kills a process and its children simultaneously.
func Kill(int) {}

// Pause freezes a process and its children.
func Pause(int) error { return errUnsupported }

// Resume reverses Pause.
func Resume(int) error { return errUnsupported }
