package measure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// hoursSQL reads the counts of sources, each with the number of hours between its hour and the hour
// $1.
const hoursSQL = `SELECT round(extract(epoch FROM $1::timestamptz - hour) / 3600)::text, name, what, n
	FROM hooklatch.hours WHERE kind = 'source' ORDER BY hour, name, what`

func TestHoursAreTheSumsOfTheirMinutes(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	counts := newCounts(t, pool)
	var hour time.Time // the next hour may begin during the test
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT date_trunc('hour', now())`).Scan(&hour))
	add := func(name, ago string, n int) {
		t.Helper()
		_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.minutes AS m VALUES ($4::timestamptz + interval '7 minutes' - $1::interval, 'source', $2, 'accepted', $3)
			ON CONFLICT (minute, kind, name, what) DO UPDATE SET n = m.n + EXCLUDED.n`, ago, name, n, hour)
		require.NoError(t, err)
	}
	add("stripe", "3 hours", 1)
	add("stripe", "2 hours 59 minutes", 2)
	add("stripe", "1 hour", 4)
	add("github", "1 hour", 8)
	require.NoError(t, counts.Tidy(t.Context()))
	want := []row{{"3", "stripe", "accepted", 3}, {"1", "github", "accepted", 8}, {"1", "stripe", "accepted", 4}}
	require.Equal(t, want, rows(t, pool, hoursSQL, hour))

	// A process whose database was unavailable adds its counts up to an hour late.
	add("stripe", "1 hour", 16)
	add("stripe", "2 hours", 32)
	require.NoError(t, counts.Tidy(t.Context()))
	want = []row{{"3", "stripe", "accepted", 3}, {"2", "stripe", "accepted", 32}, {"1", "github", "accepted", 8}, {"1", "stripe", "accepted", 20}}
	require.Equal(t, want, rows(t, pool, hoursSQL, hour))

	// Hours stay when their minutes are deleted.
	_, err := pool.Exec(t.Context(), `UPDATE hooklatch.minutes SET minute = minute - interval '27 hours' WHERE name = 'github'`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `INSERT INTO hooklatch.hours VALUES (now() - interval '401 days', 'source', 'old', 'accepted', 1)`)
	require.NoError(t, err)
	require.NoError(t, counts.Tidy(t.Context()))
	require.Equal(t, want, rows(t, pool, hoursSQL, hour))
	require.Equal(t, []row{{"source", "stripe", "accepted", 55}}, sums(t, pool))
}

// A process's wrong clock does not matter: its counts are recorded as current, and do not stop the
// sums.
func TestAClockThatIsAheadStopsNoHours(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for ahead, name := range map[time.Duration]string{0: "right", 3 * time.Hour: "ahead", -3 * time.Hour: "behind", 8766 * time.Hour: "a year ahead"} {
		counts := newCounts(t, pool)
		counts.SetAhead(ahead)
		counts.Of(measure.OfSource, name, measure.Accepted).Add(1)
		require.NoError(t, counts.Stop(t.Context()))
	}
	require.Equal(t, []row{{"source", "a year ahead", "accepted", 1}, {"source", "ahead", "accepted", 1}, {"source", "behind", "accepted", 1}, {"source", "right", "accepted", 1}},
		rows(t, pool, `SELECT kind, name, what, n FROM hooklatch.minutes WHERE minute BETWEEN now() - interval '3 minutes' AND now() ORDER BY name`))

	// An older program, or the database's own clock, may have left rows in the future.
	for _, table := range []string{"minutes", "hours"} {
		_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.`+table+` VALUES (date_trunc('hour', now()) + interval '1 year', 'source', 'of the future', 'accepted', 1)`)
		require.NoError(t, err)
	}
	counts := newCounts(t, pool)
	require.NoError(t, counts.Tidy(t.Context()))
	require.Equal(t, []row{{"source", "a year ahead", "accepted", 1}, {"source", "ahead", "accepted", 1}, {"source", "behind", "accepted", 1}, {"source", "right", "accepted", 1}},
		rows(t, pool, `SELECT kind, name, what, sum(n)::bigint FROM hooklatch.hours WHERE kind = 'source' GROUP BY 1, 2, 3 ORDER BY name`))
	require.Len(t, sums(t, pool), 4)
}

func TestSizesAreThoseOfPostgres(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	counts := newCounts(t, pool)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.minutes SELECT now(), 'source', n::text, 'accepted', 1 FROM generate_series(1, 1000) AS n`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `ANALYZE hooklatch.minutes`)
	require.NoError(t, err)
	require.NoError(t, counts.Tidy(t.Context()))
	require.NoError(t, counts.Tidy(t.Context())) // the last measurement of a day counts
	var measured, real, rows, partitions int64
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT bytes, rows, pg_total_relation_size('hooklatch.minutes') FROM hooklatch.sizes
		WHERE table_name = 'minutes' AND day = (now() AT TIME ZONE 'UTC')::date`).Scan(&measured, &rows, &real))
	require.Equal(t, real, measured)
	require.EqualValues(t, 1000, rows)
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE table_name LIKE 'deliveries%') FROM hooklatch.sizes`).Scan(&partitions))
	require.EqualValues(t, 2, partitions, "one row for deliveries with its partitions, and one for deliveries_kept")
}

// With hundreds of sources and destinations, more minutes expire between two calls than one statement
// deletes.
func TestAllExpiredCountsAreDropped(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	counts := newCounts(t, pool)
	for table, age := range map[string]string{"minutes": "27 hours", "hours": "401 days"} {
		_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.`+table+` SELECT date_trunc('hour', now() - $1::interval), 'source', n::text, 'accepted', 1 FROM generate_series(1, 25000) AS n`, age)
		require.NoError(t, err)
	}
	require.NoError(t, counts.Tidy(t.Context()))
	require.Empty(t, rows(t, pool, `SELECT 'minutes', name, what, n FROM hooklatch.minutes WHERE minute < now() - interval '26 hours'
		UNION ALL SELECT 'hours', name, what, n FROM hooklatch.hours WHERE hour < now() - interval '400 days' LIMIT 3`))
}
