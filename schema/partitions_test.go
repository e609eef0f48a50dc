package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const insertDelivery = `
	INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
	VALUES (gen_random_uuid(), 's', '{}', 'application/json', $1)`

func TestPartitionsAreOfUTCDaysAndCompressWithLz4(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	want := "l"
	if _, err := pool.Exec(t.Context(), "SET default_toast_compression = 'lz4'"); err != nil {
		want = "" // this server was built without lz4
	}
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname, a.attcompression::text, pg_get_expr(c.relpartbound, c.oid), (SELECT count(*) FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
		FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'body'
		WHERE h.inhparent = 'hooklatch.deliveries'::regclass ORDER BY c.relname`)
	require.NoError(t, err)
	var name, compression, bounds string
	var keys, partitions int
	_, err = pgx.ForEachRow(rows, []any{&name, &compression, &bounds, &keys}, func() error {
		partitions++
		require.Regexp(t, `^deliveries_\d{8}$`, name)
		require.Equal(t, want, compression, name)
		require.Equal(t, 1, keys, name)
		require.Regexp(t, `^FOR VALUES FROM \('\d{4}-\d\d-\d\d 00:00:00\+00'\) TO \('\d{4}-\d\d-\d\d 00:00:00\+00'\)$`, bounds)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 15, partitions)
	require.Equal(t, 1, count(t, pool, "SELECT count(*) FROM pg_attribute WHERE attrelid = 'hooklatch.deliveries'::regclass AND attname = 'body' AND attcompression::text = $1", want))
	require.Zero(t, count(t, pool, "SELECT count(*) FROM pg_partitioned_table WHERE partdefid <> 0"), "there is no default partition")
}

// The time zone of a connection does not change the days of partitions.
func TestPartitionsAreOfUTCDaysInEveryTimeZone(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago"} { // UTC+14 and UTC-11
		pool := pgtest.New(t, pgtest.MaxConns(1))
		_, err := pool.Exec(t.Context(), "SET timezone = '"+zone+"'")
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), "SELECT hooklatch.make_delivery_partitions(14)")
		require.NoError(t, err)
		require.Equal(t, 14, count(t, pool, "SELECT hooklatch.delivery_days_ahead()"))
		require.Equal(t, 2, count(t, pool, "SELECT hooklatch.make_delivery_partitions(16)"))
		require.Zero(t, count(t, pool, "SELECT hooklatch.make_delivery_partitions(16)"))
		require.Equal(t, 16, count(t, pool, "SELECT hooklatch.delivery_days_ahead()"))
		_, err = pool.Exec(t.Context(), insertDelivery, []byte("x"))
		require.NoError(t, err)
	}
}

func TestDaysAheadStopsAtTheFirstGap(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	drop := func(days int) {
		var name string
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT 'deliveries_' || to_char((now() AT TIME ZONE 'UTC')::date + $1::integer, 'YYYYMMDD')", days).Scan(&name))
		_, err := pool.Exec(t.Context(), "DROP TABLE hooklatch."+name)
		require.NoError(t, err)
	}
	drop(3)
	require.Equal(t, 2, count(t, pool, "SELECT hooklatch.delivery_days_ahead()"))
	drop(0)
	require.Equal(t, -1, count(t, pool, "SELECT hooklatch.delivery_days_ahead()"))
	_, err := pool.Exec(t.Context(), insertDelivery, []byte("x"))
	require.ErrorContains(t, err, "no partition of relation")

	_, err = newMigrator(t, pool, "").Up(t.Context())
	require.NoError(t, err)
	require.Equal(t, 14, count(t, pool, "SELECT hooklatch.delivery_days_ahead()"), "up repairs gaps")
}

// A transaction that stores a delivery and a transaction that creates partitions never wait for
// each other.
func TestMakingPartitionsDoesNotBlockInserts(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "SELECT hooklatch.make_delivery_partitions(14)")
	require.NoError(t, err)
	begin := func() pgx.Tx {
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "SET LOCAL lock_timeout = '1s'")
		require.NoError(t, err)
		return tx
	}
	before, maker, after := begin(), begin(), begin()
	_, err = before.Exec(t.Context(), insertDelivery, []byte("open while partitions are made"))
	require.NoError(t, err)
	var made int
	require.NoError(t, maker.QueryRow(t.Context(), "SELECT hooklatch.make_delivery_partitions(20)").Scan(&made))
	require.Equal(t, 6, made)
	_, err = after.Exec(t.Context(), insertDelivery, []byte("while partitions are not committed"))
	require.NoError(t, err)
	_, err = before.Exec(t.Context(), insertDelivery, []byte("once more"))
	require.NoError(t, err)
	for _, tx := range []pgx.Tx{maker, after, before} {
		require.NoError(t, tx.Commit(t.Context()))
	}
	require.Equal(t, 3, count(t, pool, "SELECT count(*) FROM hooklatch.deliveries"))
	require.Equal(t, 20, count(t, pool, "SELECT hooklatch.delivery_days_ahead()"))
}
