//go:build linux

package processes

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
)

// openTerminal returns both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (operator, program *os.File) {
	t.Helper()
	operator, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %s", err)
	}
	t.Cleanup(func() { _ = operator.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(operator.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(operator.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return operator, program
}

// echoes reports whether a terminal shows what the operator types.
func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return settings.Lflag&unix.ECHO != 0
}

// If init is interrupted at the prompt for a secret, the terminal echoes input again and no file is
// written.
func TestAnInterruptedInitRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	dir, flag := initFolder(t)
	operator, terminal := openTerminal(t)
	p := clitest.NewProgram(t, append([]string{"init", "stripe", "--for", "binary", "--to", "http://localhost:1", "--database", "postgres://127.0.0.1:1/none", "--public-url", "http://localhost"}, flag...)...)
	p.Cmd.Stdin, p.Cmd.Stdout, p.Cmd.Stderr = terminal, terminal, terminal
	go func() { _, _ = io.Copy(io.Discard, operator) }()
	require.True(t, echoes(t, terminal))
	require.NoError(t, p.Cmd.Start())
	require.Eventually(t, func() bool { return !echoes(t, terminal) }, clitest.Patience, clitest.Tick, "the echo is off")
	p.Signal(t, unix.SIGINT)
	require.Error(t, p.Cmd.Wait())
	require.True(t, echoes(t, terminal))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// random matches values that differ between two runs.
var random = regexp.MustCompile(`(=|whsec_)[A-Za-z0-9+/=]{20,}`)

// The questions on a terminal lead to the same files as flags, and secrets are not echoed.
func TestInitAsksOnATerminal(t *testing.T) {
	t.Parallel()
	const own = "whsec_0123456789abcdefghijklmnopqrstuv"
	dir, flag := initFolder(t)
	operator, terminal := openTerminal(t)
	p := clitest.NewProgram(t, append([]string{"init"}, flag...)...)
	var shown clitest.SyncBuffer
	p.Cmd.Stdin, p.Cmd.Stdout, p.Cmd.Stderr = terminal, &p.Stdout, terminal
	go func() { _, _ = io.Copy(&shown, operator) }()
	require.NoError(t, p.Cmd.Start())
	for _, dialogue := range [][2]string{
		{"Which services send you webhooks?", "stripe github"},
		{"How will Hooklatch run?", ""},
		{"Which URL of your application", ""},
		{"Which Postgres stores the events?", "postgres://127.0.0.1:1/none"},
		{"Which URL do senders call?", ""},
		{"Secret of Stripe, not shown", own},
		{"Secret of GitHub, not shown", ""},
	} {
		require.Eventually(t, func() bool { return strings.Contains(shown.String(), dialogue[0]) }, clitest.Patience, clitest.Tick, "%s:\n%s", dialogue[0], &shown)
		if dialogue[1] == own {
			require.Eventually(t, func() bool { return !echoes(t, terminal) }, clitest.Patience, clitest.Tick, "the echo is off")
		}
		_, err := fmt.Fprintln(operator, dialogue[1])
		require.NoError(t, err)
	}
	require.NoError(t, p.Cmd.Wait(), "%s\n%s", &shown, &p.Stdout)
	require.NotContains(t, shown.String(), own)
	require.Equal(t, 1, strings.Count(shown.String()+p.Stdout.String(), "https://hooks.example.com/webhooks/stripe"), "the steps are printed once")
	require.Contains(t, readIn(t, dir, firstrun.Dotenv), "STRIPE_WEBHOOK_SECRET="+own+"\n")

	byFlags, flag := initFolder(t)
	c := clitest.Command{Env: map[string]string{"STRIPE_WEBHOOK_SECRET": own}}
	require.Zero(t, c.Run(t.Context(), append([]string{"init", "stripe", "github", "--database", "postgres://127.0.0.1:1/none"}, flag...)...), c.Stderr.String())
	require.Equal(t, readIn(t, byFlags, config.DefaultPath), readIn(t, dir, config.DefaultPath))
	require.Equal(t, random.ReplaceAllString(readIn(t, byFlags, firstrun.Dotenv), "$1"), random.ReplaceAllString(readIn(t, dir, firstrun.Dotenv), "$1"))
}

// A target that is chosen in the dialogue has the same effect as --for. A file that exists is not
// overwritten, and compose.yaml has its own Postgres, whatever the environment says.
func TestInitTreatsAnAnswerAsAFlag(t *testing.T) {
	t.Parallel()
	const own = "whsec_0123456789abcdefghijklmnopqrstuv"
	asked := func(t *testing.T, flag []string, target firstrun.Target) (*clitest.SyncBuffer, error) {
		t.Helper()
		operator, terminal := openTerminal(t)
		p := clitest.NewProgram(t, append([]string{"init"}, flag...)...)
		p.Cmd.Env = append(p.Cmd.Env, "DATABASE_URL=postgres://db.invalid/none", "STRIPE_WEBHOOK_SECRET="+own)
		p.Cmd.Stdin, p.Cmd.Stdout, p.Cmd.Stderr = terminal, &p.Stdout, &p.Stderr
		go func() { _, _ = io.Copy(io.Discard, operator) }()
		_, err := fmt.Fprintf(operator, "stripe\n%s\n\n\n\n\n", target) // the default answer to all other questions
		require.NoError(t, err)
		return &p.Stderr, p.Cmd.Run()
	}
	for target, name := range map[firstrun.Target]string{firstrun.Compose: firstrun.ComposeFile, firstrun.Systemd: "credentials.conf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, flag := initFolder(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600))
			said, err := asked(t, flag, target)
			require.Error(t, err)
			require.Contains(t, said.String(), name+" exists: ")
			require.NotContains(t, said.String(), "Which URL", "the dialogue ends")
			require.Equal(t, "mine", readIn(t, dir, name))
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing was written")
		})
	}
	dir, flag := initFolder(t)
	said, err := asked(t, flag, firstrun.Compose)
	require.NoError(t, err, "%s", said)
	require.NotContains(t, said.String(), "Secret of Stripe", "the environment has it")
	require.Contains(t, readIn(t, dir, firstrun.Dotenv), "STRIPE_WEBHOOK_SECRET="+own+"\n")
	require.NotContains(t, readIn(t, dir, firstrun.Dotenv), "db.invalid")
	require.Contains(t, readIn(t, dir, firstrun.ComposeFile), "\n  postgres:\n")
}
