//go:build !linux

package main

// kernelMemory returns 0: the machine's memory is unknown.
func kernelMemory() int64 { return 0 }
