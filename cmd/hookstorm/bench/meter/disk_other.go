//go:build !linux

package meter

// FreeDisk returns false, because the free space is not known here.
func FreeDisk(string) (free int64, known bool) { return 0, false }
