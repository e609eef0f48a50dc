//go:build darwin || freebsd

package embedded

// memoryBase returns "", because these systems have no in-memory directory by default.
func memoryBase(owner) string { return "" }
