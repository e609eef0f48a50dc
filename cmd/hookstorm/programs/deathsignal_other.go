//go:build !linux

package programs

import "syscall"

// setDeathSignal does nothing. Outside Linux, the child of a killed hookstorm keeps running.
func setDeathSignal(*syscall.SysProcAttr) {}
