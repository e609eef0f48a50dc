package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Under a publication, Postgres refuses to change or delete rows of a table without a replica
// identity. Every table has a replica identity, and every partition that is created later gets one.
func TestEveryTableHasAReplicaIdentity(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `SELECT hooklatch.make_delivery_partitions(60),
		hooklatch.thin_day('links', (now() AT TIME ZONE 'UTC')::date - 10, '{}')`)
	require.NoError(t, err)
	var nameless []string
	require.NoError(t, pool.QueryRow(t.Context(), `
		SELECT COALESCE(array_agg(c.oid::regclass::text ORDER BY c.relname), '{}')
		FROM pg_class AS c
		WHERE c.relnamespace = 'hooklatch'::regnamespace
			AND c.relkind IN ('r', 'p')
			AND c.relreplident <> 'f'
			AND NOT EXISTS (
				SELECT FROM pg_index AS i
				WHERE i.indrelid = c.oid AND CASE c.relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END
			)`).Scan(&nameless))
	require.Empty(t, nameless)
}
