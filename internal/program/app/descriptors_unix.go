//go:build unix

package app

import (
	"math"
	"syscall"
)

// openFilesLimit is how many files the process may have open, 0 if it is not known or
// there is no limit. The Go runtime has raised it as far as it may.
func openFilesLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return 0
	}
	return int(limit.Cur)
}
