//go:build linux || darwin || freebsd

package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is the account that the server runs as.
type owner struct {
	name     string
	uid, gid int
	drop     bool // true if we are root, because Postgres refuses to run as root
}

// serverOwner returns our own account or, for root, the account postgres or nobody. The
// account must exist in passwd: initdb looks up its name.
func serverOwner() (owner, error) {
	if uid := os.Geteuid(); uid != 0 {
		return owner{name: strconv.Itoa(uid), uid: uid, gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(account.Uid)
		if err != nil {
			return owner{}, fmt.Errorf("uid of user %s: %w", name, err)
		}
		gid, err := strconv.Atoi(account.Gid)
		if err != nil {
			return owner{}, fmt.Errorf("gid of user %s: %w", name, err)
		}
		return owner{name: name, uid: uid, gid: gid, drop: true}, nil
	}
	return owner{}, errors.New("postgres does not run as root, and this machine has neither a user postgres nor a user nobody to run it as")
}

// take gives a file or directory to the owner.
func (o owner) take(path string) error {
	if !o.drop {
		return nil
	}
	return os.Lchown(path, o.uid, o.gid)
}

// canReach reports whether the owner may traverse dir and all existing directories above it. It
// reads mode bits only, no access lists. For our own account, it returns true without a check.
func (o owner) canReach(dir string) bool {
	if !o.drop {
		return true
	}
	for {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil || !info.IsDir() || !o.mayTraverse(info):
			return false
		default:
			if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
				return o.canReach(real)
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

func (o owner) mayTraverse(dir fs.FileInfo) bool {
	uid, gid := idsOf(dir)
	mode := dir.Mode().Perm()
	switch {
	case uid == o.uid:
		return mode&0o100 != 0
	case gid == o.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// makeDir creates dir and any missing parents so that the owner can reach them whatever our
// umask is.
func (o owner) makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := o.makeDir(parent); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o700)
	if o.drop {
		mode = 0o755
	}
	if err := os.Mkdir(dir, mode); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was faster
		}
		return err
	}
	return os.Chmod(dir, mode)
}

// idsOf returns a file's user and group ids.
func idsOf(info fs.FileInfo) (uid, gid int) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1
	}
	return int(stat.Uid), int(stat.Gid)
}
