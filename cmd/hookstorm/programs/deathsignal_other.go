//go:build !linux

package programs

import "syscall"

// setDeathSignal does nothing: only Linux ends a child with its parent.
func setDeathSignal(*syscall.SysProcAttr) {}
