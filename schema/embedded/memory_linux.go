package embedded

import (
	"os"
	"syscall"
)

// enoughMemory is the free space that an in-memory file system needs for test servers: 2 GiB.
// Docker gives containers 64 MiB by default.
const enoughMemory = 2 << 30

// memoryBase returns an in-memory directory for throw-away clusters. Creating and cloning
// databases there (a thousand files each) costs a tenth or less of the time on some disks. It
// returns "" if no such directory exists, or if TMPDIR requests another one.
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
