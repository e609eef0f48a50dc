//go:build darwin || freebsd

package embedded

import "syscall"

// setDeathSignal does nothing: only Linux can end a child when its parent dies. The next Start
// sweeps a killed parent's remains.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
