package embedded

import (
	"os"
	"syscall"
)

// enoughMemory is the space that a file system in memory must have free for the servers
// of tests: 2 GiB. Docker gives containers 64 MiB by default.
const enoughMemory = 2 << 30

// memoryBase returns a directory in memory for throw-away clusters. Making and cloning
// databases there (a thousand files each) costs a tenth or less of what it does on some
// disks. It returns "" if no such directory exists, or if TMPDIR requests another place.
func memoryBase(own owner) string {
	const (
		shm        = "/dev/shm"
		tmpfsMagic = 0x01021994
	)
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || !own.canReach(shm) || syscall.Statfs(shm, &fs) != nil {
		return ""
	}
	//nolint:gosec // The block size of a file system is positive.
	if fs.Type != tmpfsMagic || fs.Bavail*uint64(fs.Bsize) < enoughMemory {
		return ""
	}
	return shm
}
