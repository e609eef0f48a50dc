package pgtest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestNewIsMigratedAndOfItsOwn(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			var ahead, rows int
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT hooklatch.delivery_days_ahead(), (SELECT count(*) FROM hooklatch.destinations)").Scan(&ahead, &rows))
			require.Equal(t, 14, ahead)
			require.Zero(t, rows)
			_, err := pool.Exec(t.Context(), "INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ($1, 'http', 'q', '')", t.Name())
			require.NoError(t, err)
		})
	}
}
