//go:build linux || darwin || freebsd

package embedded

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/leaks"
)

// helperEnv turns the test binary into another program, which starts a server, reports it, and
// waits until its input ends.
const helperEnv = "EMBEDDED_TEST_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperEnv); mode != "" {
		if err := help(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(leaks.Main(m))
}

// hello is the message that a helper prints once its server is ready.
type hello struct {
	PID      int
	UID      int
	DataDir  string
	URL      string
	Progress []string
}

func help(mode string) error {
	h := hello{UID: os.Getuid()}
	opts := Options{
		orphan:   mode == "orphan",
		Progress: func(line string) { h.Progress = append(h.Progress, line) },
	}
	ctx := context.Background()
	server, err := Start(ctx, opts)
	if err != nil {
		return err
	}
	h.PID, h.DataDir, h.URL = server.PID(), server.DataDir(), server.URL("postgres")
	if err := json.NewEncoder(os.Stdout).Encode(h); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return server.Stop(ctx)
}

// helper is a child process that runs a server.
type helper struct {
	hello
	cmd *exec.Cmd
	in  io.Closer
}

// startHelper starts a helper and waits until its server is ready.
func startHelper(t *testing.T, cmd *exec.Cmd, mode string, env ...string) *helper {
	t.Helper()
	cmd.Env = append(append(os.Environ(), helperEnv+"="+mode), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	h := &helper{cmd: cmd, in: in}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		in.Close()
		t.Fatalf("helper ended: %v", cmd.Wait())
	}
	require.NoError(t, json.Unmarshal(line, &h.hello))
	return h
}

// stop makes the helper stop its server and exit.
func (h *helper) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, h.in.Close())
	require.NoError(t, h.cmd.Wait())
}

// kill kills the helper. Its directory stays, as after a crash.
func (h *helper) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, h.cmd.Process.Kill())
	require.Error(t, h.cmd.Wait())
}

// openDir returns a temporary directory that every account can reach.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hooklatch-test-") //nolint:usetesting // t.TempDir is closed to other accounts
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func startServer(t *testing.T, opts Options) *Server {
	t.Helper()
	server, err := Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	return server
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func show(t *testing.T, conn *pgx.Conn, setting string) (value string) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&value))
	return value
}
