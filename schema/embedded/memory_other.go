//go:build darwin || freebsd

package embedded

// memoryBase returns nothing: there is no file system in memory to count on.
func memoryBase(owner) string { return "" }
