package embedded

import (
	"os"
	"syscall"
)

// enoughMemory is what a file system in memory must have free to hold servers
// of tests: 2 GiB. Docker gives containers 64 MiB unless told otherwise.
const enoughMemory = 2 << 30

// memoryBase returns a directory in memory for throw-away clusters, where
// making and cloning databases (a thousand files each) costs a tenth and less of
// what it does on some disks; empty when there is none, or when TMPDIR says that
// another place is asked for.
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
