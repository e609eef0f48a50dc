package checks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/pgbouncer"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestCheckTriesAServerWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	durable := pgtest.URL(t, pgtest.New(t, pgtest.Empty(), pgtest.Durable()))
	var c clitest.Command
	require.Zero(t, c.Run(t.Context(), "check", "--engine", durable), c.Stdout.String())
	require.Regexp(t, `(?m)^ok    insert_once +an INSERT waits for a concurrent INSERT of the same key`, c.Stdout.String())
	require.Contains(t, c.Stdout.String(), "no problems found\n")
	require.Contains(t, c.Stderr.String(), "the password in --engine in the list of processes; set PGPASSWORD")

	code, found := clitest.RunCheck(t, "--engine", pgbouncer.Start(t, durable))
	require.Zero(t, code)
	require.Zero(t, found.Problems, "%+v", found.Findings)
	require.Equal(t, doctor.Warning, found.Of("listen")[0].Level)
	require.Contains(t, found.Of("listen")[0].Fix, "optional: set database.listen: false")
}

func TestCheckOfAServerThatCannotBeUsedFails(t *testing.T) {
	t.Parallel()
	code, found := clitest.RunCheck(t, "--engine", pgtest.URL(t, pgtest.New(t, pgtest.Empty())))
	require.Equal(t, cli.ExitFailed, code)
	require.Equal(t, 1, found.Problems, "%+v", found.Findings)
	require.Equal(t, doctor.Problem, found.Of(doctor.CheckFsync)[0].Level, "test servers run without fsync")

	code, found = clitest.RunCheck(t, "--engine", "postgres://u@127.0.0.1:1/none")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, found.Of("database")[0].Message, "reach the database: ")

	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), "check", "--engine", "postgres://u@127.0.0.1:1/none", "--fix"))
	require.Contains(t, c.Stderr.String(), "give one of them")
}
