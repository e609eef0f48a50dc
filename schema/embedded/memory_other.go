//go:build darwin || freebsd

package embedded

// memoryBase returns nothing: no file system in memory can be relied on.
func memoryBase(owner) string { return "" }
