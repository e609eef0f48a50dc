//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestPrepareRunsOncePerKey(t *testing.T) {
	cache := openDir(t)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	prepared := 0
	opts := Options{PrepareKey: "one", Prepare: func(ctx context.Context, server *Server) error {
		prepared++
		conn, err := pgx.Connect(ctx, server.URL("postgres"))
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "CREATE TABLE prepared (n integer)")
		return err
	}}
	for range 2 {
		conn := connect(t, startServer(t, opts).URL("postgres"))
		_, err := conn.Exec(t.Context(), "SELECT FROM prepared")
		require.NoError(t, err)
	}
	require.Equal(t, 1, prepared)
	opts.PrepareKey = "two"
	startServer(t, opts)
	require.Equal(t, 2, prepared)

	// A cluster whose preparation fails is not cached.
	opts.PrepareKey = "three"
	broken := opts
	broken.Prepare = func(context.Context, *Server) error { return errors.New("does not work") }
	_, err := Start(t.Context(), broken)
	require.ErrorContains(t, err, "prepare cluster: does not work")
	startServer(t, opts)
	require.Equal(t, 3, prepared)
}

func TestCachedEntriesAreCompleteOrAbsent(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(t.TempDir(), "cache")
	_, err := cached(t.Context(), cache, "cluster-x", owner{}, func(dir string) error {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "half"), nil, 0o600))
		return errors.New("interrupted")
	})
	require.EqualError(t, err, "interrupted")
	require.NoDirExists(t, filepath.Join(cache, "cluster-x"))
	left := filepath.Join(cache, "cluster-x.tmp-of-a-crash")
	require.NoError(t, os.Mkdir(left, 0o700))

	path, err := cached(t.Context(), cache, "cluster-x", owner{}, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "whole"), nil, 0o600)
	})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(path, "whole"))
	require.NoDirExists(t, left)
}

func TestPruneRemovesWhatNobodyUses(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	for name, age := range map[string]time.Duration{
		"cluster-old": keepCluster + time.Hour, "cluster-used": keepCluster - time.Hour,
		"prepared-old": keepPrepared + time.Hour, "prepared-used": keepPrepared - time.Hour,
		"npm-old": 10 * keepCluster,
	} {
		require.NoError(t, os.Mkdir(filepath.Join(cache, name), 0o700))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(filepath.Join(cache, name), then, then))
	}
	prune(cache)
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(cache, "cluster-used"), filepath.Join(cache, "npm-old"), filepath.Join(cache, "prepared-used")}, left)
}

func TestWaitLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := waitLock(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = waitLock(ctx, path)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, lock.Close())
	lock, err = waitLock(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

// Without a home directory, the cache is in the temporary directory. A symbolic link in its place
// is refused.
func TestCacheDirWithoutHome(t *testing.T) {
	base := openDir(t)
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("TMPDIR", base)
	dir, err := cacheDir(owner{uid: os.Geteuid()})
	require.NoError(t, err)
	require.Equal(t, base, filepath.Dir(dir))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Symlink(base, dir))
	_, err = cacheDir(owner{uid: os.Geteuid()})
	require.ErrorContains(t, err, "belongs to another user")
}
