package main_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
)

func TestHelpIsAsInTheGoldenFiles(t *testing.T) {
	t.Parallel()
	root := cli.NewRoot(&cli.Process{Name: clitest.TestName})
	for _, path := range clitest.AllCommands(root) {
		args := strings.Fields(path)
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got := clitest.Must(t, append(args, "--help")...)
			golden := filepath.Join("testdata", "help", strings.Join(append([]string{clitest.TestName}, args...), "-")+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "go test ./cmd/hooklatch -run TestHelp -update writes it")
			require.Equal(t, string(want), got)
		})
	}
}

func TestCommandsPrintTheNameTheyWereInvokedBy(t *testing.T) { // not parallel: it changes the directory
	const name = "go run ./cmd/hooklatch"
	c := clitest.Command{Name: name}
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), "bogus"))
	require.Contains(t, c.Stderr.String(), name+": unknown command")
	require.Contains(t, c.Stderr.String(), "Run '"+name+" --help' for usage.")

	c = clitest.Command{Name: name}
	require.Zero(t, c.Run(t.Context(), "send", "--help"))
	require.Contains(t, c.Stdout.String(), name+" send SOURCE [FILE]")

	// The hint about a missing configuration contains the name, too.
	c = clitest.Command{Name: name}
	t.Chdir(t.TempDir())
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "send", "stripe"))
	require.Contains(t, c.Stderr.String(), "or create one with: "+name+" dev")
}

func TestMisuseIsExitCode2(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"", "bogus", "events", "events bogus", "events list --state odd", "events list --limit 0", "events show one",
		"events list --when (", "events list --has odd", "events list --follow --since 1h", "events export --limit -1", "events erase", "events release",
		"events show a b --raw --json", "events replay", "events replay --state received", "events replay a b --state failed",
		"events replay --since soon", "events replay --state failed --rate -1", "events replay a b --rate 2", "events replay a b --detach", "events replay a b --name x",
		"replays", "runs show", "runs show x", "runs resume 0", "runs pause 1 2", "runs pace 1", "runs pace 1 fast", "runs pace 1 NaN", "runs list --limit 0",
		"events replay --since 1h --until 2h", "effects list --state odd", "effects list --event odd", "effects show", "effects show k --body --json", "effects retry", "effects park", "destinations", "destinations pause", "destinations resume a b", "migrate", "migrate down",
		"migrate down --all", "migrate down --steps 0 --yes", "migrate down --all --steps 1 --yes", "migrate up extra",
		"quarantine show x", "retention run --dry-run --yes", "alerts mute breaker_open --for -1h", "repair --restored-to 2026-11-21 --promoted",
		"send", "send stripe --times 0", "send stripe --parallel 0", "send stripe --id x --new-ids", "send stripe --header x", "send stripe --url ftp://x", "send a b c",
		"serve --log-level loud", "serve --log-format xml", "serve --bogus", "check extra",
		"check --fix --json", "check --engine x --database-url y", "send stripe --show --json", "backfill stripe --limit -1",
		"events list --follow --limit 5", "effects list --follow --limit 5", "serve --listen x", "gateway --listen 127.0.0.1:http", "worker --admin-listen :99999", "events erase --list 7 --yes", "events erase --list 7 --cancel",
		"dev --database-url x --pg-port 5",
		"dev --forward ftp://x", "dev --public-url x", "dev --secret x", "dev --secret nobody=x", "dev --listen x", "dev --admin-listen 127.0.0.1:http", "dev --pg-port 70000", "dev --log-level loud", "dev --config x --forward http://x",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			clitest.RequireMisused(t, strings.Fields(args)...)
		})
	}
}

// Misuse is found before the program opens a port, reads a file or queries the database. So a
// running program or a missing configuration does not hide it.
func TestMisuseIsFoundBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	dir := filepath.Join(t.TempDir(), "none")
	for _, flag := range []string{"--listen", "--admin-listen", "--receiver-listen", "--smtp-listen"} {
		clitest.RequireMisused(t, "dev", "--dir", dir, flag, taken.Addr().String(), "--secret", "x")
	}
	require.NoDirExists(t, dir)
	missing := filepath.Join(dir, "hooklatch.yaml")
	for _, process := range []string{"serve", "gateway", "worker", "dev"} {
		clitest.RequireMisused(t, process, "--config", missing, "--log-level", "loud")
	}
	for _, path := range clitest.AllCommands(cli.NewRoot(&cli.Process{Name: clitest.TestName})) {
		clitest.RequireMisused(t, append(strings.Fields(path), "--config", missing, "--bogus")...)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Contains(t, clitest.Must(t, "version"), "hooklatch ")
	require.Contains(t, clitest.Must(t, "version", "--json"), `"go_version"`)
}
