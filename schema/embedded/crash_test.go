//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/internal/family"
)

// On Linux, the server of a killed parent process stops too.
func TestServerDiesWithItsParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	h := startHelper(t, exec.Command(os.Args[0]), "server")
	connect(t, h.URL)
	h.kill(t)
	require.True(t, gone(h.PID, 2*time.Minute))
	server := startServer(t, Options{}) // Start sweeps the remains of the helper
	swept(t, h)
	require.NotEqual(t, h.DataDir, server.DataDir())
}

// swept waits until the helper's directory is removed, perhaps by another test that sweeps.
func swept(t *testing.T, h *helper) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Dir(h.DataDir))
		return os.IsNotExist(err)
	}, 2*time.Minute, 5*time.Millisecond)
}

// Start stops the server of a killed parent, if the operating system has not stopped it.
func TestSweepEndsAnOrphan(t *testing.T) {
	t.Parallel()
	living := startHelper(t, exec.Command(os.Args[0]), "server")
	h := startHelper(t, exec.Command(os.Args[0]), "orphan")
	h.kill(t)
	startServer(t, Options{})
	require.True(t, gone(h.PID, 2*time.Minute)) // the Start of a parallel test may be stopping it
	swept(t, h)

	connect(t, living.URL) // servers with a living parent are left alone
	living.stop(t)
	require.NoDirExists(t, filepath.Dir(living.DataDir))
}

func TestSweepLeavesForeignProcessesAlone(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	left := filepath.Join(base, runPrefix+"1")
	require.NoError(t, os.MkdirAll(filepath.Join(left, dataName), 0o700))
	innocent := exec.Command("sleep", "60")
	require.NoError(t, innocent.Start())
	defer func() {
		require.NoError(t, innocent.Process.Kill())
		_ = innocent.Wait()
	}()
	pid := []byte(strconv.Itoa(innocent.Process.Pid) + "\n")
	require.NoError(t, os.WriteFile(filepath.Join(left, dataName, "postmaster.pid"), pid, 0o600))
	young := filepath.Join(base, newPrefix+"young")
	old := filepath.Join(base, newPrefix+"old")
	require.NoError(t, os.Mkdir(young, 0o700))
	require.NoError(t, os.Mkdir(old, 0o700))
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(old, long, long))

	sweep(base, func(line string) { t.Error(line) })
	require.NoDirExists(t, left)
	require.True(t, family.Alive(innocent.Process.Pid), "a reused process id must not be killed")
	require.DirExists(t, young)
	require.NoDirExists(t, old)
}

// The next Start stops a persistent server whose parent was killed.
func TestOrphanOfPersistentDataDir(t *testing.T) {
	t.Parallel()
	opts := Options{DataDir: openDir(t), orphan: true}
	server := startServer(t, opts)
	pid := server.PID()
	// This is the state after the death of the parent: no process holds the lock, but the server runs.
	server.dir.lock.Close()

	next := startServer(t, Options{DataDir: opts.DataDir})
	require.False(t, family.Alive(pid))
	require.NotEqual(t, pid, next.PID())
	connect(t, next.URL("postgres"))
}

// Several processes need the same cluster simultaneously. One process creates it, and the others
// use it.
func TestClusterIsMadeOnceForManyProcesses(t *testing.T) {
	t.Parallel()
	cache := openDir(t)
	const processes = 4
	helpers := make([]*helper, processes)
	var group sync.WaitGroup
	for i := range helpers {
		group.Go(func() {
			helpers[i] = startHelper(t, exec.Command(os.Args[0]), "server", "XDG_CACHE_HOME="+cache, "HOME="+cache)
		})
	}
	group.Wait()
	made := 0
	for _, h := range helpers {
		require.NotNil(t, h)
		for _, line := range h.Progress {
			if strings.HasPrefix(line, "making a cluster") {
				made++
			}
		}
		connect(t, h.URL)
	}
	require.Equal(t, 1, made)
	for _, h := range helpers {
		h.stop(t)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*", "*.tmp*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestAsOrdinaryUser starts a server as an ordinary user who has only a home directory.
func TestAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: all other tests run as an ordinary user")
	}
	own, err := serverOwner()
	require.NoError(t, err)
	home := openDir(t)
	const nobody = 65534
	require.NoError(t, os.Chown(home, nobody, nobody))
	program := filepath.Join(home, "embedded.test") // the user cannot enter the directory of the original
	copyProgram(t, os.Args[0], program)

	cmd := exec.Command(program)
	cmd.Dir = home
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	h := startHelper(t, cmd, "server", "HOME="+home, "XDG_CACHE_HOME=")
	require.Equal(t, nobody, h.UID)
	require.NotEqual(t, nobody, own.uid)
	info, err := os.Stat(h.DataDir)
	require.NoError(t, err)
	uid, _ := idsOf(info)
	require.Equal(t, nobody, uid)
	conn, err := pgx.Connect(t.Context(), h.URL)
	require.NoError(t, err)
	require.NoError(t, conn.Close(context.Background()))
	h.stop(t)
	require.NoDirExists(t, filepath.Dir(h.DataDir))
}

// copyProgram copies a program and prevents forks meanwhile. A forked child process holds its
// parent's files open until its exec, and a file that is open for writing cannot be executed.
func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}
