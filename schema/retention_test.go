package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const putAsideValid = `SELECT count(*) FROM pg_index WHERE indisvalid
	AND indexrelid IN (to_regclass('hooklatch.processed_events_put_aside'), to_regclass('hooklatch.effects_put_aside'))`

// Up builds the retention indexes outside its transaction, and starts over after an
// interruption.
func TestIndexesOfRetentionAreMadeAgainAfterAnInterruption(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	require.Equal(t, 2, count(t, pool, putAsideValid))
	run(t, pool, `DROP INDEX hooklatch.effects_put_aside`)
	run(t, pool, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'hooklatch.processed_events_put_aside'::regclass`)
	_, err := newMigrator(t, pool, "").Up(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, count(t, pool, putAsideValid))
}

// The retention functions run with the owner's rights, so they refuse unsafe requests.
func TestOnlyADayThatIsOverIsDropped(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	run(t, pool, `CREATE TABLE hooklatch.deliveries_20200101 PARTITION OF hooklatch.deliveries FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z')`)
	for _, refused := range []string{
		`SELECT hooklatch.drop_day('deliveries', (now() AT TIME ZONE 'UTC')::date)`,
		`SELECT hooklatch.detach_day('deliveries', (now() AT TIME ZONE 'UTC')::date + 1)`,
		`SELECT hooklatch.drop_day('deliveries', '2020-01-01')`, // the partition is attached
		`SELECT hooklatch.drop_day('processed_events', '2020-01-01')`,
		`SELECT hooklatch.drop_day(NULL, '2020-01-01')`,
		`SELECT hooklatch.drop_day('deliveries', NULL)`,
		`SELECT hooklatch.thin_day('deliveries', '2020-01-01', '{}')`,
	} {
		_, err := pool.Exec(t.Context(), refused)
		require.ErrorContains(t, err, "retention: ", refused)
	}
	run(t, pool, `SELECT hooklatch.detach_day('deliveries', '2020-01-01'), hooklatch.drop_day('deliveries', '2020-01-01')`)
	require.Zero(t, count(t, pool, `SELECT count(*) FROM pg_class WHERE relname = 'deliveries_20200101'`))
}

// A thinned day keeps only the given rows. If the day was detached, thin_day attaches a new
// partition for it.
func TestAThinDayKeepsWhatOutlivesIt(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	run(t, pool, `CREATE TABLE hooklatch.links_20200101 PARTITION OF hooklatch.links FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z')`)
	run(t, pool, `INSERT INTO hooklatch.links SELECT i, '2020-01-01 12:00Z', 1, false, 's', i::text FROM generate_series(1, 100) AS i`)
	run(t, pool, `SELECT hooklatch.detach_day('links', '2020-01-01')`)
	require.Equal(t, 2, count(t, pool, `SELECT hooklatch.thin_day('links', '2020-01-01', '{7, 50, 500}')`))
	require.Equal(t, 2, count(t, pool, `SELECT count(*) FROM hooklatch.links WHERE accept_seq IN (7, 50)`))
	require.Equal(t, 1, count(t, pool, `SELECT hooklatch.thin_day('links', '2020-01-01', '{50}')`))
	require.Equal(t, 1, count(t, pool, `SELECT count(*) FROM hooklatch.links`))
}
