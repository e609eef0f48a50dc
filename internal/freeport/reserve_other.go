//go:build !linux

package freeport

// reserve does nothing: on this system a server could not listen on a reserved port.
func reserve(int) bool { return true }
