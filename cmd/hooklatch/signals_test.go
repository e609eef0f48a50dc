package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// program is a hooklatch process that a test has started.
type program struct {
	cmd    *exec.Cmd
	stdout syncBuffer
	stderr syncBuffer
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	p := newProgram(t, args...)
	require.NoError(t, p.cmd.Start())
	return p
}

func newProgram(t *testing.T, args ...string) *program {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	p := &program{cmd: exec.CommandContext(t.Context(), executable, args...)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

func (p *program) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

func (p *program) says(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.stderr.String()+p.stdout.String(), text) }, patience, tick,
		"%s: %s", text, &p.stderr)
}

func TestSignalsReloadAndDrain(t *testing.T) {
	t.Parallel()
	path := writeServedConfig(t, pgtest.URL(t, pgtest.New(t)))
	p := startProgram(t, "serve", "--config", path, "--log-format", "text")
	p.says(t, "msg=ready")

	p.signal(t, syscall.SIGHUP)
	p.says(t, "configuration reloaded")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), "provider: stripe", "provider: stripy", 1)), 0o600))
	p.signal(t, syscall.SIGHUP)
	p.says(t, "the current configuration stays in effect")
	p.says(t, "stripy")

	p.signal(t, syscall.SIGTERM)
	p.says(t, "draining; a second signal exits at once")
	require.NoError(t, p.cmd.Wait(), p.stderr.String())
}

// A command whose reader closes the pipe, as with | head, ends immediately and silently, like other
// programs. Only commands that run until they are stopped continue.
func TestACommandEndsWithItsReader(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	p := newProgram(t, "providers")
	p.cmd.Stdout = writer
	require.NoError(t, p.cmd.Start())
	require.NoError(t, writer.Close())
	require.Error(t, p.cmd.Wait())
	require.Equal(t, syscall.SIGPIPE, p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.Empty(t, p.stderr.String())
}

func TestASecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	path := writeServedConfig(t, pgtest.URL(t, pool))
	p := startProgram(t, "serve", "--config", path, "--log-format", "text")
	p.says(t, "msg=ready")
	// While Postgres does not respond, the shutdown takes long enough for a second signal.
	require.NoError(t, pgtest.Pause(pgtest.Server(t, pool)))
	p.signal(t, syscall.SIGINT)
	p.says(t, "draining")
	p.signal(t, syscall.SIGINT)
	err := p.cmd.Wait()
	require.NoError(t, pgtest.Resume(pgtest.Server(t, pool)))
	require.Error(t, err)
	require.Contains(t, p.stderr.String(), "second signal: exiting immediately")
}

func TestInterruptStopsDevAndItsPostgres(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	p := startProgram(t, "dev", "--dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--receiver-listen", "127.0.0.1:0", "--smtp-listen", "127.0.0.1:0", "--pg-port", "0")
	p.says(t, "Ctrl-C stops everything.")
	p.signal(t, syscall.SIGINT)
	require.NoError(t, p.cmd.Wait(), p.stderr.String())
	require.NoFileExists(t, filepath.Join(dir, "pg", "data", "postmaster.pid"))
}
