package meter

import "golang.org/x/sys/unix"

// FreeDisk returns the free space on the disk of a directory, in bytes, and whether that space is
// known.
func FreeDisk(dir string) (free int64, known bool) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, false
	}
	return int64(disk.Bavail) * disk.Bsize, true //nolint:gosec // no disk has 2^63 bytes
}
