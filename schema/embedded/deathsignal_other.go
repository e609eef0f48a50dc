//go:build darwin || freebsd

package embedded

import "syscall"

// setDeathSignal does nothing: only Linux ends a child with its parent. The
// next Start sweeps what a killed parent left.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
