package outbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema"
)

// The cache of recent events is valid for the rows of one table. It must not be used for another
// table with the same name: a restored dump may lack cached rows.
func TestDatabaseLifeEndsWithItsTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	life := func() string {
		t.Helper()
		life, err := b.databaseLife(t.Context())
		require.NoError(t, err)
		return life
	}
	first := life()
	require.Equal(t, first, life())
	_, err := b.pool.Exec(t.Context(), `TRUNCATE hooklatch.processed_events`)
	require.NoError(t, err)
	emptied := life()
	require.NotEqual(t, first, emptied)
	_, err = b.pool.Exec(t.Context(), `DROP SCHEMA hooklatch CASCADE`)
	require.NoError(t, err)
	migrator, err := schema.NewMigrator(b.pool, schema.Default, nil)
	require.NoError(t, err)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, emptied, life())
	require.NotEqual(t, first, life())
}

// The tables of two databases have the same OIDs if one template was used for both.
func TestDatabaseLifeIsThatOfOneDatabase(t *testing.T) {
	t.Parallel()
	one, two := setup(t), setup(t)
	life, err := one.databaseLife(t.Context())
	require.NoError(t, err)
	other, err := two.databaseLife(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, life, other)
}
