//go:build darwin || freebsd

package embedded

import "syscall"

// setDeathSignal does nothing. On Linux, the kernel signals a child process when its parent dies.
// On these systems, the next Start stops the server that a killed parent left behind.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
