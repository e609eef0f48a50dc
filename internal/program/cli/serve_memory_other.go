//go:build !linux

package cli

// kernelMemory returns 0: the machine's memory is unknown.
func kernelMemory() int64 { return 0 }
