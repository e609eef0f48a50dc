package embedded

import (
	"os"
	"syscall"
)

// enoughMemory is the free space that an in-memory file system needs for test servers: 2 GiB. In a
// Docker container, /dev/shm has only 64 MiB by default.
const enoughMemory = 2 << 30

// memoryBase returns an in-memory directory for throw-away clusters. On some disks, creating or
// cloning a database (a thousand files) takes at least ten times as long as in memory. memoryBase
// returns "" if TMPDIR requests another directory, or if no in-memory file system can be reached
// and is large enough.
func memoryBase(own owner) string {
	const (
		shm        = "/dev/shm"
		tmpfsMagic = 0x01021994
	)
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || !own.canReach(shm) || syscall.Statfs(shm, &fs) != nil {
		return ""
	}
	//nolint:gosec // A file system's block size is positive.
	if fs.Type != tmpfsMagic || fs.Bavail*uint64(fs.Bsize) < enoughMemory {
		return ""
	}
	return shm
}
