//go:build darwin || freebsd

package embedded

import "syscall"

// setDeathSignal does nothing: only Linux ends a child with its parent. The next Start
// sweeps the remains of a killed parent.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
