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

func TestCheckShowsWhatTheChecksOfTheConfigurationFind(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Durable())
	_, err := pool.Exec(t.Context(), `
		CREATE TABLE payments (id text, amount bigint, note text);
		INSERT INTO payments SELECT 'p_' || i, CAST(i AS bigint), CASE i WHEN 2 THEN 'two words' WHEN 3 THEN e'\x1b[2J' END FROM generate_series(1, 25) AS i`)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "hooklatch.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `database: {url: %s}
sources:
  stripe: {provider: stripe, secrets: [whsec_0123456789abcdef]}
destinations:
  app: {http: {url: http://localhost:3000/}}
routes:
  - {name: all, from: stripe, to: app}
checks:
  - {name: no-payments, sql: SELECT id FROM payments WHERE amount < 0}
  - {name: paid-without-order, sql: "SELECT id, amount, note FROM payments ORDER BY amount;"}
  - name: no-table
    sql: SELECT id FROM refunds
`, firstrun.Scalar(pgtest.URL(t, pool))), 0o600))
	code, found := clitest.RunCheck(t, "--config", path)
	require.Equal(t, cli.ExitFailed, code)
	findings := found.Of("agreement")
	require.Len(t, findings, 3, "%+v", findings)
	require.Equal(t, doctor.Finding{Level: doctor.OK, Check: "agreement", Message: "no-payments: found no rows"}, findings[0])

	require.Equal(t, doctor.Problem, findings[1].Level)
	require.EqualValues(t, 25, findings[1].Count)
	require.Len(t, findings[1].Rows, 20)
	require.Equal(t, "p_2", *findings[1].Rows[1]["id"])
	require.Nil(t, findings[1].Rows[0]["note"])
	require.Contains(t, findings[1].Message, "paid-without-order: 25 rows\nid=p_1 amount=1 note=NULL\nid=p_2 amount=2 note=\"two words\"\n")
	require.Contains(t, findings[1].Message, "\nid=p_20 amount=20 note=NULL\nand 5 more")

	require.Equal(t, doctor.Problem, findings[2].Level)
	require.Equal(t, path+`:12: checks[2].sql: cannot be run: relation "refunds" does not exist (SQLSTATE 42P01)`, findings[2].Message)

	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "check", "--config", path))
	require.Contains(t, c.Stdout.String(), "ok    agreement                no-payments: found no rows\n")
	require.Contains(t, c.Stdout.String(), "FAIL  agreement                paid-without-order: 25 rows\n                               id=p_1 amount=1 note=NULL\n")
	require.NotContains(t, c.Stdout.String(), "\x1b")

	_, err = pool.Exec(t.Context(), `DELETE FROM payments; CREATE TABLE refunds (id text)`)
	require.NoError(t, err)
	code, found = clitest.RunCheck(t, "--config", path)
	require.Zero(t, code, "%+v", found.Findings)
	for _, f := range found.Of("agreement") {
		require.Equal(t, doctor.OK, f.Level)
	}
}
