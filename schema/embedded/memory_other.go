//go:build darwin || freebsd

package embedded

// memoryBase returns "": no in-memory file system can be relied on.
func memoryBase(owner) string { return "" }
