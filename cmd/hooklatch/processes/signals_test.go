package processes

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestSignalsReloadAndDrain(t *testing.T) {
	t.Parallel()
	path := clitest.WriteServedConfig(t, pgtest.URL(t, pgtest.New(t)))
	p := clitest.StartProgram(t, "serve", "--config", path, "--log-format", "text")
	p.Says(t, "msg=ready")

	p.Signal(t, syscall.SIGHUP)
	p.Says(t, "configuration reloaded")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), "provider: stripe", "provider: stripy", 1)), 0o600))
	p.Signal(t, syscall.SIGHUP)
	p.Says(t, "the current configuration stays in effect")
	p.Says(t, "stripy")

	p.Signal(t, syscall.SIGTERM)
	p.Says(t, "draining; a second signal exits at once")
	require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
}

// A command exits immediately and silently if the reader of its output, such as head, closes the
// pipe. Only commands that run until they are stopped continue.
func TestACommandEndsWithItsReader(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	p := clitest.NewProgram(t, "providers")
	p.Cmd.Stdout = writer
	require.NoError(t, p.Cmd.Start())
	require.NoError(t, writer.Close())
	require.Error(t, p.Cmd.Wait())
	require.Equal(t, syscall.SIGPIPE, p.Cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.Empty(t, p.Stderr.String())
}

func TestASecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	path := clitest.WriteServedConfig(t, pgtest.URL(t, pool))
	p := clitest.StartProgram(t, "serve", "--config", path, "--log-format", "text")
	p.Says(t, "msg=ready")
	// While Postgres does not respond, the shutdown takes long enough for a second signal.
	require.NoError(t, pgtest.Pause(pgtest.Server(t, pool)))
	p.Signal(t, syscall.SIGINT)
	p.Says(t, "draining")
	p.Signal(t, syscall.SIGINT)
	err := p.Cmd.Wait()
	require.NoError(t, pgtest.Resume(pgtest.Server(t, pool)))
	require.Error(t, err)
	require.Contains(t, p.Stderr.String(), "second signal: exiting immediately")
}

func TestInterruptStopsDevAndItsPostgres(t *testing.T) {
	t.Parallel()
	dir := clitest.ReachableDir(t)
	p := clitest.StartProgram(t, "dev", "--dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--receiver-listen", "127.0.0.1:0", "--smtp-listen", "127.0.0.1:0", "--pg-port", "0")
	p.Says(t, "Ctrl-C stops everything.")
	p.Signal(t, syscall.SIGINT)
	require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
	require.NoFileExists(t, filepath.Join(dir, "pg", "data", "postmaster.pid"))
}
