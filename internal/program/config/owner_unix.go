//go:build unix

package config

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the user id of a file's owner.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
