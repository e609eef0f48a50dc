//go:build !linux

package meter

// FreeDisk returns false, because it cannot determine the free space on this system.
func FreeDisk(string) (free int64, known bool) { return 0, false }
