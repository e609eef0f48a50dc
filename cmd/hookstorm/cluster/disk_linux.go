package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// capSysAdmin is the number of CAP_SYS_ADMIN, the capability that mounting needs.
const capSysAdmin = 21

// Privately lets a command mount disks that only the command sees and that vanish with it, even
// if this process may not mount. It uses a mount namespace, and for an ordinary user also a user
// namespace. If that is not allowed, the command fails to start.
func Privately(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{capSysAdmin},
	}
}

func mountSmall(dir string, size int64) error {
	return syscall.Mount("hookstorm", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d,mode=0755", size))
}

// unmount detaches the disk immediately, even if files on it are open.
func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
