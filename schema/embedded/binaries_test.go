//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeBin creates a bin directory whose postgres only prints its version.
func fakeBin(t *testing.T, dir, version string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres"), []byte(script), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "initdb"), []byte("#!/bin/sh\n"), 0o755))
	return dir
}

func TestLocate(t *testing.T) {
	t.Parallel()
	root := openDir(t)
	lib := filepath.Join(root, "lib")
	for _, version := range []string{"9.6", "14", "15", "16", "100"} {
		fakeBin(t, filepath.Join(lib, version, "bin"), version+".1")
	}
	beta := fakeBin(t, filepath.Join(root, "beta", "bin"), "19beta1")
	own := fakeBin(t, filepath.Join(root, "own", "bin"), "17.2 (Debian 17.2-1)")
	npm := fakeBin(t, filepath.Join(root, "npm", "bin"), "18.4")
	// This directory in PATH has a link to one program, as on Debian.
	linked := filepath.Join(root, "usr", "bin")
	require.NoError(t, os.MkdirAll(linked, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(own, "postgres"), filepath.Join(linked, "postgres")))
	// This directory has no initdb.
	client := filepath.Join(root, "client")
	require.NoError(t, os.MkdirAll(client, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(client, "postgres"), nil, 0o755))

	globs := []string{filepath.Join(lib, "*", "bin")}
	fromNPM := func(context.Context) (string, error) { return npm, nil }
	for name, one := range map[string]struct {
		search search
		wanted int
		dir    string
		major  int
		err    string
	}{
		"PATH first":           {search{path: []string{client, linked}, globs: globs}, 0, own, 17, ""},
		"newest glob":          {search{path: []string{client}, globs: globs}, 0, filepath.Join(lib, "100", "bin"), 100, ""},
		"wanted version":       {search{path: []string{linked}, globs: globs}, 15, filepath.Join(lib, "15", "bin"), 15, ""},
		"beta":                 {search{path: []string{beta}}, 0, beta, 19, ""},
		"npm last":             {search{npm: fromNPM}, 0, npm, 18, ""},
		"npm for the version":  {search{path: []string{linked}, globs: globs, npm: fromNPM}, 18, npm, 18, ""},
		"choice of npm":        {search{choice: "npm", path: []string{linked}, globs: globs, npm: fromNPM}, 0, npm, 18, ""},
		"choice of directory":  {search{choice: beta, path: []string{linked}, npm: fromNPM}, 0, beta, 19, ""},
		"choice without npm":   {search{choice: "npm", path: []string{linked}}, 0, "", 0, "npm: not on PATH"},
		"choice is no bin":     {search{choice: client, path: []string{linked}}, 0, "", 0, BinariesEnv + "=" + client + " cannot be used: " + client + ": no program initdb"},
		"choice has another":   {search{choice: beta}, 15, "", 0, "has version 19, but version 15 is wanted"},
		"too old":              {search{globs: []string{filepath.Join(lib, "9.6", "bin")}}, 0, "", 0, "version 9 is too old, 15 is the oldest"},
		"npm fails":            {search{npm: func(context.Context) (string, error) { return "", errors.New("no network") }}, 0, "", 0, "npm: no network"},
		"wanted is not there":  {search{path: []string{linked}, globs: globs, npm: fromNPM}, 13, "", 0, "no Postgres binaries found of version 13"},
		"nothing is a version": {search{path: []string{fakeBin(t, filepath.Join(root, "odd"), "unknown")}}, 0, "", 0, "unknown version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, err := one.search.locate(t.Context(), owner{}, one.wanted)
			if one.err != "" {
				require.ErrorContains(t, err, one.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, one.dir, bin.dir)
			require.Equal(t, one.major, bin.major)
		})
	}
}

func TestNothingFoundSaysWhereAndWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := search{path: []string{"/nowhere/bin", "/nowhere/sbin"}, globs: []string{"/nowhere/*/bin"}}.locate(t.Context(), owner{}, 0)
	require.EqualError(t, err, `no Postgres binaries found
looked in:
  PATH: /nowhere/bin:/nowhere/sbin
  /nowhere/*/bin
refused:
  npm: not on PATH
any one of these repairs it:
  apt-get install postgresql
  brew install postgresql@18
  export HOOKLATCH_POSTGRES=/path/to/postgres/bin
  export TEST_DATABASE_URL=postgres://...   (tests only)`)

	_, err = search{}.locate(t.Context(), owner{}, 0)
	require.ErrorContains(t, err, "PATH: (empty)")
}

func TestBinariesOutOfReach(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(openDir(t), "closed")
	fakeBin(t, filepath.Join(closed, "bin"), "18.1")
	require.NoError(t, os.Chmod(closed, 0o700))
	_, err := search{choice: filepath.Join(closed, "bin")}.locate(t.Context(), owner{name: "postgres", uid: 54321, gid: 54321, drop: true}, 0)
	require.ErrorContains(t, err, "out of reach for user postgres, which the server runs as because Postgres refuses root")
}

func TestUsualPlacesAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, glob := range usual() {
		_, err := filepath.Glob(glob)
		require.NoError(t, err, glob)
		require.True(t, filepath.IsAbs(glob), glob)
	}
	require.Equal(t, 18, versionIn("/opt/homebrew/opt/postgresql@18/bin"))
	require.Equal(t, 16, versionIn("/usr/pgsql-16/bin"))
	require.Zero(t, versionIn("/usr/local/pgsql/bin"))
}
