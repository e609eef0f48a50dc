package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const (
	wireKeyValid  = `SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('hooklatch.effects_wire_key') AND indisvalid`
	wireKeyUnique = `SELECT count(*) FROM pg_constraint WHERE conname = 'effects_idempotency_key_key'`
)

func requireWireKeyIndex(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	require.Equal(t, 1, count(t, pool, wireKeyValid))
	require.Zero(t, count(t, pool, wireKeyUnique))
}

// Up replaces the unique index outside its transactions, and starts over after an interruption. It
// does nothing if another process is building the index.
func TestIndexOfWireKeysReplacesTheUniqueOne(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	migrator := newMigrator(t, pool, "")
	requireWireKeyIndex(t, pool)
	status, err := migrator.Status(t.Context())
	require.NoError(t, err)
	_, err = migrator.Down(t.Context(), len(status.Migrations)-16) // removes 0017 and later migrations
	require.NoError(t, err)
	require.Equal(t, 1, count(t, pool, wireKeyUnique))
	require.Zero(t, count(t, pool, wireKeyValid))

	other, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), `SELECT pg_advisory_lock(hashtextextended('hooklatch.wire_key', 0))`)
	require.NoError(t, err)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, count(t, pool, wireKeyUnique), "another process is building the index")
	_, err = other.Exec(t.Context(), `SELECT pg_advisory_unlock_all()`)
	require.NoError(t, err)
	other.Release()

	// An interrupted CREATE INDEX CONCURRENTLY leaves an invalid index.
	run(t, pool, `CREATE INDEX effects_wire_key ON hooklatch.effects (created_at)`)
	run(t, pool, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'hooklatch.effects_wire_key'::regclass`)
	_, err = migrator.Up(t.Context())
	require.NoError(t, err)
	requireWireKeyIndex(t, pool)
	require.Equal(t, 1, count(t, pool, `SELECT count(*) FROM pg_indexes WHERE indexname = 'effects_wire_key' AND indexdef LIKE '%date_bin%hashtextextended%'`))
	require.Zero(t, count(t, pool, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`))
}
