//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// passwordName is the file in the data directory that stores the superuser's password. Only the
// owner can read this directory.
const passwordName = "hooklatch_password"

// Unused clusters and former versions of binaries stay in the cache for these times. A prepared
// cluster stays for a shorter time, because every schema change makes it obsolete.
const (
	keepCluster  = 30 * 24 * time.Hour
	keepPrepared = 3 * 24 * time.Hour
	keepBinaries = 30 * 24 * time.Hour
)

// cacheDir returns the cache directory for clusters and binaries. It is in the user's cache
// directory, if there is one and the owner can reach it. Otherwise it is below /var/cache for root,
// whose home directory is usually closed to other accounts.
func cacheDir(own owner) (string, error) {
	if dir, err := os.UserCacheDir(); err == nil && own.canReach(dir) {
		return filepath.Join(dir, "hooklatch"), nil
	}
	if own.drop {
		return "/var/cache/hooklatch", nil
	}
	// For any other user, the cache is then in the temporary directory. A directory that another
	// user created there is refused.
	dir := filepath.Join(os.TempDir(), "hooklatch-cache-"+strconv.Itoa(own.uid))
	if err := own.makeDir(dir); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if uid, _ := idsOf(info); uid != own.uid || !info.IsDir() {
		return "", fmt.Errorf("%s belongs to another user: set HOME or XDG_CACHE_HOME", dir)
	}
	return dir, nil
}

// cached returns a cache entry's directory, and creates it if it is missing. The function fill
// receives a temporary directory and writes the entry's files to it. Entries appear complete or not
// at all, even if many processes request the same entry.
func cached(ctx context.Context, cache, name string, own owner, fill func(dir string) error) (string, error) {
	path := filepath.Join(cache, name)
	used := func() bool {
		now := time.Now()
		return os.Chtimes(path, now, now) == nil
	}
	if used() {
		return path, nil
	}
	if err := own.makeDir(cache); err != nil {
		return "", err
	}
	lock, err := waitLock(ctx, path+".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if used() {
		return path, nil
	}
	if err := removeAll(path + ".tmp*"); err != nil { // left by a killed process
		return "", err
	}
	temp, err := os.MkdirTemp(cache, name+".tmp")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := own.take(temp); err != nil {
		return "", err
	}
	if err := fill(temp); err != nil {
		return "", err
	}
	if err := os.Rename(temp, path); err != nil {
		return "", err
	}
	prune(cache)
	return path, nil
}

// prune removes clusters and former versions of binaries from the cache that have not been used for a
// long time. An entry that cannot be removed is left for the next call.
func prune(cache string) {
	pruneBinaries(cache)
	for pattern, age := range map[string]time.Duration{"cluster-*": keepCluster, "prepared-*": keepPrepared} {
		entries, _ := filepath.Glob(filepath.Join(cache, pattern))
		for _, entry := range entries {
			if info, err := os.Stat(entry); err == nil && time.Since(info.ModTime()) > age {
				_ = os.RemoveAll(entry)
			}
		}
	}
}

// initArgs returns the arguments of initdb, except the directory and the password file.
func initArgs() []string {
	return []string{
		"--username=" + Superuser, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
		"--no-sync", "--no-instructions",
	}
}

// freshCluster returns the cached directory of an empty cluster for these binaries, and creates it
// if necessary.
func freshCluster(ctx context.Context, cache string, bin binaries, own owner, progress func(string)) (string, error) {
	name := "cluster-" + hash(bin.dir, bin.version, strconv.Itoa(own.uid), strings.Join(initArgs(), " "), "one iteration")
	return cached(ctx, cache, name, own, func(dir string) error {
		progress("making a cluster with " + bin.version + " (once)")
		return makeCluster(ctx, cache, bin, own, dir)
	})
}

// makeCluster creates an empty cluster in a directory, with a random password.
func makeCluster(ctx context.Context, cache string, bin binaries, own owner, dir string) error {
	password := rand.Text()
	secret, err := os.CreateTemp(cache, "password")
	if err != nil {
		return err
	}
	defer os.Remove(secret.Name())
	_, err = secret.WriteString(scramSecret(password))
	if err := errors.Join(err, secret.Close(), own.take(secret.Name())); err != nil {
		return err
	}
	args := append(initArgs(), "--pgdata="+dir, "--pwfile="+secret.Name())
	if err := run(ctx, own, bin.program("initdb"), args...); err != nil {
		return err
	}
	path := filepath.Join(dir, passwordName)
	return errors.Join(os.WriteFile(path, []byte(password), 0o600), own.take(path))
}

// copyTree copies a directory that does not change meanwhile, and gives the copy to the owner.
func copyTree(from, to string, own owner) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case entry.IsDir():
			if err := os.Mkdir(target, 0o700); err != nil {
				return err
			}
			return own.take(target)
		case entry.Type().IsRegular():
			return copyFile(path, target, 0o600, own)
		default:
			return fmt.Errorf("%s is no regular file", path)
		}
	})
}

func copyFile(from, to string, mode fs.FileMode, own owner) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), own.take(to))
}

// publish renames a complete cluster to its final directory. If sync is not nil, the cluster
// survives a power failure after publish returns: its files, their names, and its own name are on
// disk.
func publish(temp, dir string, sync func(*os.File) error) error {
	if sync == nil {
		return os.Rename(temp, dir)
	}
	if err := filepath.WalkDir(temp, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncPath(path, sync)
	}); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncPath(filepath.Dir(dir), sync)
}

func syncPath(path string, sync func(*os.File) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	err = sync(file)
	if errors.Is(err, syscall.EINVAL) { // some file systems cannot sync directories; Postgres ignores that, too
		err = nil
	}
	return errors.Join(err, file.Close())
}

// removeAll removes everything that matches a pattern.
func removeAll(pattern string) error {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, path := range found {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
