package measure_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// waits returns a database that contains waiting work of each kind.
func waits(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	text, err := os.ReadFile("testdata/waits.sql")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), string(text))
	require.NoError(t, err)
	return pool
}
