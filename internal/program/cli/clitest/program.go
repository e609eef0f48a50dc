package clitest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// ReachableDir returns the path of a directory that the test may create. Postgres's account can
// reach it even if the test runs as root; other test directories are closed to that account.
func ReachableDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		require.NoError(t, os.Chmod(path, 0o755))
	}
	return filepath.Join(dir, ".hooklatch")
}

// AsProgram is the environment variable that makes the test binary run as the program, for tests
// that need a separate process.
const AsProgram = "HOOKLATCH_TEST_AS_PROGRAM"

// Main is the TestMain of a package whose tests run the program. It returns the exit code.
func Main(m *testing.M) int {
	if os.Getenv(AsProgram) != "" {
		return cli.Main("", "")
	}
	flag.Parse()
	return pgtest.Main(m)
}

// Program is a hooklatch process that a test has started.
type Program struct {
	Cmd    *exec.Cmd
	Stdout SyncBuffer
	Stderr SyncBuffer
}

// StartProgram starts the test binary as the program.
func StartProgram(t *testing.T, args ...string) *Program {
	t.Helper()
	p := NewProgram(t, args...)
	require.NoError(t, p.Cmd.Start())
	return p
}

// NewProgram prepares a process of the test binary that runs as the program, without starting the
// process.
func NewProgram(t *testing.T, args ...string) *Program {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	p := &Program{Cmd: exec.CommandContext(t.Context(), executable, args...)}
	p.Cmd.Env = append(os.Environ(), AsProgram+"=1")
	p.Cmd.Stdout, p.Cmd.Stderr = &p.Stdout, &p.Stderr
	return p
}

// Signal sends a signal to the process.
func (p *Program) Signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.Cmd.Process.Signal(s))
}

// Says waits until the process has printed text.
func (p *Program) Says(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.Stderr.String()+p.Stdout.String(), text) }, Patience, Tick,
		"%s: %s", text, &p.Stderr)
}
