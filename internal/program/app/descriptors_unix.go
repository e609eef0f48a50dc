//go:build unix

package app

import (
	"math"
	"syscall"
)

// openFilesLimit returns the number of files that the process may open, or 0 if the number is
// unknown or unlimited. The Go runtime has already raised the limit as far as possible.
func openFilesLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return 0
	}
	return int(limit.Cur)
}
