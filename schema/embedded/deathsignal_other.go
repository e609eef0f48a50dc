//go:build darwin || freebsd

package embedded

import "syscall"

// setDeathSignal does nothing. On Linux, the system ends a child process when its parent dies. On
// other systems, the next Start sweeps the remains of a killed parent.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
