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
	"time"
)

// passwordName is a file in the data directory that contains the superuser's password.
// Only the owner can read the directory.
const passwordName = "hooklatch_password"

// Lifetimes of unused cached clusters. A prepared cluster becomes obsolete with every schema
// change.
const (
	keepCluster  = 30 * 24 * time.Hour
	keepPrepared = 3 * 24 * time.Hour
)

// cacheDir returns the directory for clusters and binaries. The owner must be able to reach
// it, so it is the user's cache directory except for root, whose home is closed.
func cacheDir(own owner) (string, error) {
	if dir, err := os.UserCacheDir(); err == nil && own.canReach(dir) {
		return filepath.Join(dir, "hooklatch"), nil
	}
	if own.drop {
		return "/var/cache/hooklatch", nil
	}
	// Without a home, the cache is in the temporary directory. A directory that another user
	// created there is refused.
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

// cached returns a cache entry's directory, and creates it if it is missing. fill gets a
// temporary directory to fill. Entries appear complete or not at all, however many processes
// want one.
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

// prune removes unused clusters from the cache. A cluster that cannot be removed is left for
// the next time.
func prune(cache string) {
	for pattern, age := range map[string]time.Duration{"cluster-*": keepCluster, "prepared-*": keepPrepared} {
		entries, _ := filepath.Glob(filepath.Join(cache, pattern))
		for _, entry := range entries {
			if info, err := os.Stat(entry); err == nil && time.Since(info.ModTime()) > age {
				_ = os.RemoveAll(entry)
			}
		}
	}
}

// initArgs returns initdb's arguments, besides directory and password.
func initArgs() []string {
	return []string{
		"--username=" + Superuser, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
		"--no-sync", "--no-instructions",
	}
}

// freshCluster returns the directory of an empty cluster for these binaries.
func freshCluster(ctx context.Context, cache string, bin binaries, own owner, progress func(string)) (string, error) {
	name := "cluster-" + hash(bin.dir, bin.version, strconv.Itoa(own.uid), strings.Join(initArgs(), " "), "one iteration")
	return cached(ctx, cache, name, own, func(dir string) error {
		progress("making a cluster with " + bin.version + " (once)")
		return makeCluster(ctx, cache, bin, own, dir)
	})
}

// makeCluster creates an empty cluster in a directory.
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

// copyTree copies a directory that does not change meanwhile, and gives the copy to the owner. With
// sync, the copy is on disk when copyTree returns.
func copyTree(from, to string, own owner, sync bool) error {
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
			return copyFile(path, target, 0o600, own, sync)
		default:
			return fmt.Errorf("%s is no regular file", path)
		}
	})
}

func copyFile(from, to string, mode fs.FileMode, own owner, sync bool) error {
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
	if err == nil && sync {
		err = out.Sync()
	}
	return errors.Join(err, out.Close(), own.take(to))
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
