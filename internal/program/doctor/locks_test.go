package doctor_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestLocksThatExcludeNobodyAreFound(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	found, err := doctor.Locks(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, doctor.OK, found.Level, found.Message)

	found, err = doctor.Locks(t.Context(), pretending(t, pool))
	require.NoError(t, err)
	require.Equal(t, doctor.Problem, found.Level)
	require.Contains(t, found.Message, "do not work")
}

// pretending returns a pool of sessions in which every advisory lock is granted and excludes no
// session.
func pretending(t *testing.T, pool *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	_, err := pool.Exec(t.Context(), `CREATE SCHEMA pretending;
		CREATE FUNCTION pretending.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`)
	require.NoError(t, err)
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pool))
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["search_path"] = "pretending, pg_catalog, public"
	without, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(without.Close)
	return without
}
