package measure_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func newCounts(t *testing.T, pool *pgxpool.Pool) *measure.Counts {
	t.Helper()
	counts, err := measure.NewCounts(measure.CountsOptions{Pool: pool})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, counts.Stop(context.Background())) })
	return counts
}

// row is a row of the table minutes, without its minute.
type row struct {
	Kind, Name, What string
	N                int64
}

func rows(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) []row {
	t.Helper()
	found, err := pool.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	list, err := pgx.CollectRows(found, pgx.RowToStructByPos[row])
	require.NoError(t, err)
	return list
}

func sums(t *testing.T, pool *pgxpool.Pool) []row {
	t.Helper()
	return rows(t, pool, `SELECT kind, name, what, sum(n)::bigint FROM hooklatch.minutes WHERE kind NOT IN ('sources', 'destinations') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`)
}

// Processes count the same names simultaneously, and add their counts in any order.
func TestCountsOfProcessesAddUp(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	const processes, each = 4, 500
	var running sync.WaitGroup
	for range processes {
		counts := newCounts(t, pool)
		running.Go(func() {
			for range each {
				counts.Of(measure.OfSource, "stripe", measure.Accepted).Add(1)
				counts.Of(measure.OfSource, "github", measure.Accepted).Add(2)
				counts.Of(measure.OfSource, "stripe", measure.Refused("bad_signature")).Add(1)
				counts.Timer(measure.OfDestination, "app").Add(30 * time.Millisecond)
			}
			require.NoError(t, counts.Stop(t.Context()))
			counts.Of(measure.OfSource, "stripe", measure.Accepted).Add(1) // only the second Stop adds it
			require.NoError(t, counts.Stop(t.Context()))
		})
	}
	running.Wait()
	require.Equal(t, []row{
		{"destination", "app", "took:0.05", processes * each},
		{"source", "github", "accepted", 2 * processes * each},
		{"source", "stripe", "accepted", processes*each + processes},
		{"source", "stripe", "refused:bad_signature", processes * each},
	}, sums(t, pool))
}

func TestACountBelongsToItsMinute(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	counts := newCounts(t, pool)
	accepted := counts.Of(measure.OfSource, "stripe", measure.Accepted)
	minute := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for i, until := range []time.Duration{10 * time.Second, 50 * time.Second, time.Minute, 70 * time.Second} {
		accepted.Add(int64(i + 1))
		counts.Collect(minute.Add(until))
	}
	require.NoError(t, counts.Stop(t.Context()))
	require.Equal(t, []row{{"2026-11-23 12:00", "stripe", "accepted", 6}, {"2026-11-23 12:01", "stripe", "accepted", 4}}, rows(t, pool,
		`SELECT to_char(minute AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), name, what, n FROM hooklatch.minutes ORDER BY minute`))
}

func TestNothingIsCountedWithoutCounts(t *testing.T) {
	t.Parallel()
	var none *measure.Counts
	none.Of(measure.OfSource, "stripe", measure.Accepted).Add(1)
	none.Timer(measure.OfSource, "stripe").Add(time.Second)
}

// A database that does not respond may have added the counts, so they are not sent again.
func TestCountsAreNeverAddedTwice(t *testing.T) {
	t.Parallel()
	sound := pgtest.New(t)
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.Terminate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			f := new(fault.Fault)
			config := sound.Config()
			f.Apply(config)
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			counts := newCounts(t, pool)
			f.Arm(mode, 1)
			counts.Of(measure.OfSource, string(mode), measure.Accepted).Add(7)
			require.NoError(t, counts.Stop(t.Context()))
			require.Equal(t, 1, f.Count())
			require.NoError(t, counts.Stop(t.Context()))
			require.Equal(t, []row{{"source", string(mode), "accepted", 7}}, rows(t, sound,
				`SELECT kind, name, what, n FROM hooklatch.minutes WHERE name = $1`, string(mode)))
		})
	}
}

// Counts that the database refused, or that were never sent to it, are added later.
func TestCountsWaitForTheirDatabase(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	counts := newCounts(t, pool)
	_, err := pool.Exec(t.Context(), `ALTER TABLE hooklatch.minutes RENAME TO elsewhere`)
	require.NoError(t, err)
	counts.Of(measure.OfSource, "stripe", measure.Accepted).Add(7)
	require.NoError(t, counts.Stop(t.Context()))
	_, err = pool.Exec(t.Context(), `ALTER TABLE hooklatch.elsewhere RENAME TO minutes`)
	require.NoError(t, err)
	require.NoError(t, counts.Stop(t.Context()))
	require.Equal(t, []row{{"source", "stripe", "accepted", 7}}, sums(t, pool))
}

func TestATimerSaysWithinWhatTimeMostAre(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	reader, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	counts := newCounts(t, pool)
	timer := counts.Timer(measure.OfDestination, "app")
	for range 98 {
		timer.Add(180 * time.Millisecond)
	}
	timer.Add(4 * time.Second)
	timer.Add(time.Minute)
	counts.Timer(measure.OfDestination, "crm").Add(time.Minute)
	require.NoError(t, counts.Stop(t.Context()))
	counted, err := reader.RecentOf(t.Context(), measure.OfDestination, "app", time.Hour)
	require.NoError(t, err)
	for share, want := range map[float64]time.Duration{0.5: 250 * time.Millisecond, 0.98: 250 * time.Millisecond, 0.99: 5 * time.Second} {
		within, known := measure.Within(counted, share)
		require.True(t, known)
		require.Equal(t, want, within)
	}
	_, known := measure.Within(counted, 1)
	require.False(t, known, "one duration is longer than all bounds")
	_, known = measure.Within(nil, 0.5)
	require.False(t, known)
}
