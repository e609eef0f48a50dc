//go:build linux || darwin || freebsd

package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	lockName  = "lock"
	dataName  = "data"
	runPrefix = "hooklatch-pg-"
	newPrefix = "hooklatch-new-"
)

// runDir is one server's directory. It contains the cluster, in the subdirectory data, and a lock
// file. The process that started the server holds the lock until it stops the server or exits.
type runDir struct {
	path string
	lock *fileLock
	keep bool // true for a persistent data directory
}

func (d *runDir) data() string { return filepath.Join(d.path, dataName) }

// newRunDir sweeps the directories that dead parents left, and then creates a throw-away directory.
func newRunDir(own owner, opts Options) (*runDir, error) {
	base := tempBase(own)
	sweep(base, opts.progress)
	if memory := memoryBase(own); memory != "" {
		sweep(memory, opts.progress)
		if !opts.Durable {
			base = memory
		}
	}
	// A directory gets its final name, which sweeps look for, only after its lock is held.
	fresh, err := os.MkdirTemp(base, newPrefix)
	if err != nil {
		return nil, err
	}
	lock, err := tryLock(filepath.Join(fresh, lockName))
	if err != nil {
		os.RemoveAll(fresh)
		return nil, err
	}
	path := filepath.Join(base, runPrefix+filepath.Base(fresh)[len(newPrefix):])
	dir := &runDir{path: path, lock: lock}
	if err := os.Rename(fresh, path); err != nil {
		os.RemoveAll(fresh)
		lock.Close()
		return nil, err
	}
	if own.drop {
		if err := os.Chmod(path, 0o755); err != nil {
			dir.release()
			return nil, err
		}
	}
	return dir, nil
}

// tempBase returns the temporary directory, or /tmp if the owner cannot reach it.
func tempBase(own owner) string {
	if base := os.TempDir(); own.canReach(base) {
		return base
	}
	return "/tmp"
}

// keptRunDir opens the requested persistent directory, or its substitute if the owner cannot
// reach it.
func keptRunDir(own owner, asked string) (*runDir, error) {
	path, err := filepath.Abs(asked)
	if err != nil {
		return nil, err
	}
	if !own.canReach(path) {
		path = substitute(own, path)
		if !own.canReach(path) {
			return nil, fmt.Errorf("neither %s nor %s can be reached by user %s, which the server runs as", asked, path, own.name)
		}
	}
	if err := own.makeDir(path); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := tryLock(filepath.Join(path, lockName))
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, fmt.Errorf("data directory %s is in use by another process", path)
	}
	dir := &runDir{path: path, lock: lock, keep: true}
	if err := stopOrphan(dir.data(), true); err != nil {
		dir.release()
		return nil, err
	}
	return dir, nil
}

// substitute derives a reachable directory from an unreachable one. The result is the same at
// every start.
func substitute(own owner, path string) string {
	sum := sha256.Sum256([]byte(path))
	name := filepath.Base(path) + "-" + hex.EncodeToString(sum[:6])
	const stateDir = "/var/lib"
	if info, err := os.Stat(stateDir); err == nil && info.IsDir() {
		return filepath.Join(stateDir, "hooklatch", name)
	}
	return filepath.Join(tempBase(own), "hooklatch-"+name)
}

// release removes a throw-away directory and releases the lock.
func (d *runDir) release() error {
	var err error
	if !d.keep {
		err = os.RemoveAll(d.path)
	}
	d.lock.Close()
	return err
}

// sweep stops the servers that killed parents left in base, and removes their directories. If that
// fails for one directory, sweep reports the error and continues, because a new server does not
// depend on it.
func sweep(base string, tell func(string)) {
	for _, path := range ourDirs(base, runPrefix) {
		lock, err := tryLock(filepath.Join(path, lockName))
		if err != nil || lock == nil {
			continue // in use, or being swept by another process
		}
		err = stopOrphan(filepath.Join(path, dataName), false)
		if err == nil {
			err = os.RemoveAll(path)
		}
		lock.Close()
		if err != nil {
			tell(fmt.Sprintf("sweep %s: %v", path, err))
		}
	}
	// These directories belong to parents that died in the microseconds between creating a
	// directory and renaming it.
	for _, path := range ourDirs(base, newPrefix) {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(path)
		}
	}
}

// ourDirs returns the directories in base that have the prefix and belong to us.
func ourDirs(base, prefix string) []string {
	var dirs []string
	found, _ := filepath.Glob(filepath.Join(base, prefix+"*")) // fails only for a malformed pattern
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if uid, _ := idsOf(info); uid == os.Geteuid() {
			dirs = append(dirs, path)
		}
	}
	return dirs
}
