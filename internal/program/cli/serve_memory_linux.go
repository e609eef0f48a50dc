package cli

import "golang.org/x/sys/unix"

// kernelMemory returns the machine's memory in bytes as the kernel reports it, or 0 if it is
// unknown.
func kernelMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit) //nolint:gosec // no machine has 2^63 bytes
}
