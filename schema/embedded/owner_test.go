//go:build linux || darwin || freebsd

package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanReach(t *testing.T) {
	t.Parallel()
	base := openDir(t)
	mkdir := func(path string, mode os.FileMode) string {
		path = filepath.Join(base, path)
		require.NoError(t, os.MkdirAll(path, 0o755))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	open, closed, group := mkdir("open", 0o755), mkdir("closed", 0o700), mkdir("group", 0o750)
	link := filepath.Join(base, "open", "link")
	require.NoError(t, os.Symlink(filepath.Join(closed, "below"), link))
	require.NoError(t, os.Mkdir(filepath.Join(closed, "below"), 0o755))

	stranger := owner{uid: 54321, gid: 54321, drop: true}
	require.True(t, stranger.canReach(open))
	require.True(t, stranger.canReach(filepath.Join(open, "new", "dir")), "missing directories will be created for the owner")
	require.False(t, stranger.canReach(closed))
	require.False(t, stranger.canReach(filepath.Join(closed, "below")))
	require.False(t, stranger.canReach(filepath.Join(closed, "new")))
	require.False(t, stranger.canReach(link))
	require.False(t, stranger.canReach(group))
	require.True(t, owner{uid: 54321, gid: os.Getegid(), drop: true}.canReach(group))
	require.True(t, owner{uid: os.Geteuid(), gid: 54321, drop: true}.canReach(closed))
	require.True(t, owner{}.canReach(closed), "our own account needs no check")
}

func TestMakeDirDespiteOfUmask(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, owner{drop: true}.makeDir(base))
	require.NoError(t, owner{drop: true}.makeDir(base))
	for _, dir := range []string{base, filepath.Dir(base)} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	}
}

// If the account that runs the server cannot reach DataDir, the server uses another directory, the
// same at every start.
func TestUnreachableDataDirIsSubstituted(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: the server runs as ourselves")
	}
	closed := filepath.Join(openDir(t), "closed")
	require.NoError(t, os.Mkdir(closed, 0o700))
	asked := filepath.Join(closed, "project", "pg")

	server := startServer(t, Options{DataDir: asked})
	instead := filepath.Dir(server.DataDir())
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(instead)) })
	require.False(t, strings.HasPrefix(instead, closed))
	conn := connect(t, server.URL("postgres"))
	_, err := conn.Exec(t.Context(), "CREATE TABLE kept (n integer)")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, server.Stop(t.Context()))

	again := startServer(t, Options{DataDir: asked})
	require.Equal(t, server.DataDir(), again.DataDir(), "the same at every start")
	conn = connect(t, again.URL("postgres"))
	_, err = conn.Exec(t.Context(), "SELECT FROM kept")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	require.NoError(t, again.Stop(t.Context()))
}

func TestChildEnvHasNothingOfPostgres(t *testing.T) {
	t.Setenv("PGDATA", "/elsewhere")
	t.Setenv("PGPORT", "1")
	t.Setenv("LC_MESSAGES", "de_DE.UTF-8")
	t.Setenv("KEPT_FOR_TEST", "1")
	env := childEnv()
	require.Contains(t, env, "LC_ALL=C")
	require.Contains(t, env, "KEPT_FOR_TEST=1")
	for _, entry := range env {
		require.NotRegexp(t, `^(PG|LC_MESSAGES|LANG)`, entry)
	}
	startServer(t, Options{})
}
