package commit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Cancelling a COMMIT loses its outcome: a caller that goes away cannot end the
// transaction it asked for.
func TestATransactionOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE numbers (n integer)`)
	require.NoError(t, err)
	db, err := New(Options{Pool: pool})
	require.NoError(t, err)

	caller, leave := context.WithCancel(t.Context())
	require.NoError(t, db.Do(caller, "test", Limits{}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		require.False(t, repeated)
		leave()
		_, err := tx.Exec(ctx, `INSERT INTO numbers VALUES (1)`)
		return err
	}))
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM numbers`).Scan(&n))
	require.Equal(t, 1, n)
}
