package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// celledConfig writes a configuration with the cell payments.
func celledConfig(t *testing.T, first, payments string) *system {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	text := fmt.Sprintf(`
database: {url: %q, allow: [fsync_off]}
cells: {payments: {url: %q, allow: [fsync_off]}}
sources:
  shop: {provider: token, secrets: [the-secret-0123456789], event_id: {pointer: /id}}
  pay: {provider: token, secrets: [the-secret-0123456789], event_id: {pointer: /id}, cell: payments}
`, first, payments)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return &system{configPath: path}
}

func TestCommandsWorkOnCells(t *testing.T) {
	t.Parallel()
	first, payments := pgtest.New(t, pgtest.Empty()), pgtest.New(t, pgtest.Empty())
	s := celledConfig(t, pgtest.URL(t, first), pgtest.URL(t, payments))
	out := must(t, s.args("migrate", "up")...)
	require.Contains(t, out, "  cell main\n")
	require.Contains(t, out, "  cell payments\n")
	shown := func(args ...string) string { // ignores the exit code: no worker is running, which needs attention
		var c command
		c.run(t.Context(), s.args(args...)...)
		return c.stdout.String()
	}
	out = shown("status")
	require.Contains(t, out, "cell main\n")
	require.Contains(t, out, "cell payments\n")
	require.Contains(t, shown("check"), "cell payments: ")
	out = shown("status", "--cell", "payments")
	require.Contains(t, out, "hooklatch send pay")
	require.NotContains(t, out, "hooklatch send shop")

	var c command
	require.Equal(t, exitMisused, c.run(t.Context(), s.args("events", "list", "--cell", "payment")...))
	require.Contains(t, c.stderr.String(), "has no such cell; its cells are main, payments")
}

func TestStatusNamesTheCellThatIsAway(t *testing.T) {
	t.Parallel()
	s := celledConfig(t, pgtest.URL(t, pgtest.New(t)), "postgres://postgres@127.0.0.1:1/none")
	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("status")...), "an unavailable cell needs attention")
	require.Contains(t, c.stdout.String(), "cell main\n")
	require.Contains(t, c.stdout.String(), "cell payments did not answer: ")
	var up command
	require.Equal(t, exitFailed, up.run(t.Context(), s.args("migrate", "up")...))
	require.Contains(t, up.stderr.String(), "cell payments: ")
}
