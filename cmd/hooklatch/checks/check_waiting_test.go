package checks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Before any effect runs a statement, check finds that the statement uses a missing table. Check
// also finds a source without a route.
func TestCheckFindsStatementsAndSourcesThatLeadNowhere(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `database: {url: %s}
sources:
  stripe: {provider: stripe, secrets: [whsec_0123456789abcdef]}
  github: {provider: github, secrets: [whsec_0123456789abcdef]}
destinations:
  books:
    sql:
      statements:
        good: SELECT $1::text
        missing: INSERT INTO ledger_of_nobody VALUES ($1)
routes:
  - {name: book, from: stripe, to: books, sql: {statement: good, params: [event.id]}}
`, firstrun.Scalar(pgtest.URL(t, pool))), 0o600))
	code, found := clitest.RunCheck(t, "--config", path)
	require.Equal(t, cli.ExitFailed, code)
	statements := found.Of("statements")
	require.Len(t, statements, 1, "%+v", statements)
	require.Equal(t, doctor.Problem, statements[0].Level)
	require.Contains(t, statements[0].Message, path+":10: ")
	require.Contains(t, statements[0].Message, `relation "ledger_of_nobody" does not exist (SQLSTATE 42P01)`)
	routes := found.Of("routes")
	require.Len(t, routes, 1, "%+v", routes)
	require.Contains(t, routes[0].Message, path+":4: sources.github: has no route: its events are stored and skipped")

	_, err := pool.Exec(t.Context(), `CREATE TABLE ledger_of_nobody (id text)`)
	require.NoError(t, err)
	_, found = clitest.RunCheck(t, "--config", path)
	require.Equal(t, "Postgres accepts the 2 statements of all sql destinations", found.Of("statements")[0].Message)
	require.Equal(t, "nothing is waiting; no worker is running", found.Of("waiting")[0].Message)
}

// A team that owns nothing is a mistake in the command line: its status would be empty, as if all
// were well.
func TestStatusOfAnUnknownTeamIsMisuse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	database := pgtest.URL(t, pgtest.New(t))
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `database: {url: %s}
sources: {stripe: {provider: stripe, secrets: [whsec_0123456789abcdef], team: billing}}
destinations: {app: {http: {url: "http://localhost/"}, team: shop}}
`, firstrun.Scalar(database)), 0o600))
	for _, args := range [][]string{{"status", "--team", "biling", "--config", path}, {"status", "--team", "biling", "--json", "--config", path}} {
		var c clitest.Command
		require.Equal(t, cli.ExitMisused, c.Run(t.Context(), args...))
		require.Empty(t, c.Stdout.String())
		require.Contains(t, c.Stderr.String(), `--team "biling"`)
		require.Contains(t, c.Stderr.String(), "billing, shop")
	}
	var c clitest.Command
	c.Run(t.Context(), "status", "--team", "billing", "--config", path)
	require.Contains(t, c.Stdout.String(), "stripe")
	c = clitest.Command{Env: map[string]string{"DATABASE_URL": database}}
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), "status", "--team", "billing", "--config", writeTeamless(t, database)))
}

func writeTeamless(t *testing.T, database string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "database: {url: %s}\n", firstrun.Scalar(database)), 0o600))
	return path
}
