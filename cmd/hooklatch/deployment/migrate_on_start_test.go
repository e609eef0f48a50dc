package deployment

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// migratingConfig writes a configuration with database.migrate: on_start, and returns a system that
// contains only the configuration's path.
func migratingConfig(t *testing.T, url string) *clitest.System {
	t.Helper()
	path := clitest.WriteServedConfig(t, url)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	migrating := strings.Replace(string(text), "\ndatabase:\n", "\ndatabase:\n  migrate: on_start\n", 1)
	require.NotEqual(t, string(text), migrating)
	require.NoError(t, os.WriteFile(path, []byte(migrating), 0o600))
	return &clitest.System{ConfigPath: path}
}

// Several processes start together on an empty database. One applies each migration, and all serve.
// A worker applies none.
func TestServeMigratesOnStart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	s := migratingConfig(t, pgtest.URL(t, pool))
	var worker clitest.Command
	require.Equal(t, cli.ExitFailed, worker.Run(t.Context(), s.Args("worker")...))
	require.Contains(t, worker.Stderr.String(), s.Printed("run: hooklatch migrate up"))

	ctx, cancel := context.WithCancel(t.Context())
	processes, ended := make([]clitest.Command, 4), make(chan int)
	for i := range processes {
		go func() { ended <- processes[i].Run(ctx, s.Args("serve")...) }()
	}
	for i := range processes {
		require.Eventually(t, func() bool { return strings.Contains(processes[i].Stderr.String(), `"msg":"ready"`) }, clitest.Patience, clitest.Tick)
	}
	cancel()
	applied := 0
	for i := range processes {
		require.Zero(t, <-ended)
		applied += strings.Count(processes[i].Stderr.String(), `"msg":"migrated up","migration":"hooklatch 0001_inbox"`)
	}
	require.Equal(t, 1, applied)
}

// A process fails to start if its role may not migrate the schema. The error names the role and the
// command to run.
func TestARoleWithoutTheRightToMigrateEndsTheStart(t *testing.T) {
	t.Parallel()
	s := migratingConfig(t, withRole(t, pgtest.New(t), "hooklatch_worker"))
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("serve")...))
	require.Regexp(t, "the role hooklatch_worker_[0-9a-z_]+ may not migrate schema hooklatch; run "+regexp.QuoteMeta(s.Printed("`hooklatch migrate up`"))+" with the role that owns the schema", c.Stderr.String())
}
