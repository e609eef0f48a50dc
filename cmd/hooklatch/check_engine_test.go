package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/pgbouncer"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestCheckTriesAServerWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	durable := pgtest.URL(t, pgtest.New(t, pgtest.Empty(), pgtest.Durable()))
	var c command
	require.Zero(t, c.run(t.Context(), "check", "--engine", durable), c.stdout.String())
	require.Regexp(t, `(?m)^ok    insert_once +an INSERT waits for a concurrent INSERT of the same key`, c.stdout.String())
	require.Contains(t, c.stdout.String(), "no problems found\n")
	require.Contains(t, c.stderr.String(), "the password in --engine in the list of processes; set PGPASSWORD")

	code, found := runCheck(t, "--engine", pgbouncer.Start(t, durable))
	require.Zero(t, code)
	require.Zero(t, found.Problems, "%+v", found.Findings)
	require.Equal(t, doctor.Warning, found.of("listen")[0].Level)
	require.Contains(t, found.of("listen")[0].Fix, "optional: set database.listen: false")
}

func TestCheckOfAServerThatCannotBeUsedFails(t *testing.T) {
	t.Parallel()
	code, found := runCheck(t, "--engine", pgtest.URL(t, pgtest.New(t, pgtest.Empty())))
	require.Equal(t, exitFailed, code)
	require.Equal(t, 1, found.Problems, "%+v", found.Findings)
	require.Equal(t, doctor.Problem, found.of(doctor.CheckFsync)[0].Level, "test servers run without fsync")

	code, found = runCheck(t, "--engine", "postgres://u@127.0.0.1:1/none")
	require.Equal(t, exitFailed, code)
	require.Contains(t, found.of("database")[0].Message, "reach the database: ")

	var c command
	require.Equal(t, exitMisused, c.run(t.Context(), "check", "--engine", "postgres://u@127.0.0.1:1/none", "--fix"))
	require.Contains(t, c.stderr.String(), "give one of them")
}
