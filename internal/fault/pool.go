package fault

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// NewPool returns a pool for a test whose connections go through a fault, and the fault.
func NewPool(t testing.TB, url string) (*pgxpool.Pool, *Fault) {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	f := new(Fault)
	f.Apply(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool, f
}
