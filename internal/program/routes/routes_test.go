package routes_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/explained"
	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// effects creates 3,000 failed effects of the route loud, from the last hour. It also creates one
// parked effect of the route calm, which is older than all of them.
const effects = `SET session_replication_role = replica;
	INSERT INTO hooklatch.effects (
		scope, key, idempotency_key, route, destination, queue, policy, state, attempt, created_at, next_attempt_at, finished_at, error, source, event_id
	)
	SELECT 'route:stripe:loud', i::text, 'hl_' || i, 'loud', 'app', 'dst_app', 'at_least_once', 'failed', 1,
		at - i * interval '1 second', at, at AS finished_at, 'error ' || i, 'stripe', 'evt_' || i
	FROM generate_series(1, 3000) AS i, now() AS at;
	INSERT INTO hooklatch.effects (
		scope, key, idempotency_key, route, destination, queue, policy, state, attempt, created_at, next_attempt_at, finished_at, error
	)
	SELECT 'route:stripe:calm', 'c', 'hl_calm', 'calm', 'app', 'dst_app', 'at_least_once', 'parked', 1, at - interval '20 hours', at, at AS finished_at, 'calm error'
	FROM now() AS at;
	RESET session_replication_role`

// lookedBackTo reads the state of one route until a read goes back to the given time or finds an
// error. On a busy machine, a read may end before that.
func lookedBackTo(t *testing.T, r routes.Reader, one routes.Route, back time.Time) routes.State {
	t.Helper()
	for range (retry.Pauses{First: time.Millisecond, Max: time.Second}).Until(t.Context()) {
		state, err := r.One(t.Context(), one)
		require.NoError(t, err)
		if state.LastError != nil || !state.ErrorsSince.After(back) {
			return state
		}
	}
	require.Fail(t, "no answer looked back far enough", one.Name)
	return routes.State{}
}

// The list finds the newest errors within its bound and says how far back it searched. The page of
// one route searches further back, because errors of other routes do not end its search.
func TestTheLastErrorIsFoundWithinABound(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), effects)
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	measured, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	r := routes.Reader{Measure: measured, Finder: box.Finder(), Now: time.Now}
	list := []routes.Route{{Name: "calm"}, {Name: "loud"}, {Name: "none"}}
	states, err := r.All(t.Context(), list)
	require.NoError(t, err)
	require.Equal(t, "error 1", states[1].LastError.Error)
	require.Equal(t, "stripe/evt_1", states[1].LastError.Event.String())
	require.Nil(t, states[0].LastError)
	require.Less(t, time.Since(states[0].ErrorsSince), time.Hour, "the list did not look back as far as calm's error")
	now := time.Now()
	calm := lookedBackTo(t, r, list[0], now.Add(-20*time.Hour))
	require.NotNil(t, calm.LastError, "the answer looked back to %s", calm.ErrorsSince)
	require.Equal(t, "calm error", calm.LastError.Error)
	none := lookedBackTo(t, r, list[2], now.Add(-23*time.Hour))
	require.Nil(t, none.LastError)
	require.InDelta(t, 24, time.Since(none.ErrorsSince).Hours(), 0.1)
	pool.Close()
	_, err = r.All(t.Context(), list)
	require.Error(t, err)
}

// Counts of the last hour have a resolution of a minute, and counts of the last day have a
// resolution of an hour.
func TestCountsAreOfTheHourAndTheDay(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.minutes (minute, kind, name, what, n) VALUES
		(date_trunc('minute', now()), 'route', 'a', 'created', 3), (date_trunc('minute', now()) - interval '10 minutes', 'route', 'a', 'suppressed', 1),
		(date_trunc('minute', now()) - interval '61 minutes', 'route', 'a', 'created', 100), (date_trunc('minute', now()), 'source', 'a', 'created', 1000),
		(date_trunc('minute', now()), 'route', 'b', 'unrendered', 1)`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `INSERT INTO hooklatch.hours (hour, kind, name, what, n) VALUES
		(date_trunc('hour', now(), 'UTC') - interval '2 hours', 'route', 'a', 'created', 40), (date_trunc('hour', now(), 'UTC') - interval '24 hours', 'route', 'a', 'created', 500),
		(date_trunc('hour', now(), 'UTC') - interval '5 hours', 'route', 'a', 'failed', 2)`)
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	measured, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	states, err := routes.Reader{Measure: measured, Finder: box.Finder(), Now: time.Now}.All(t.Context(), []routes.Route{{Name: "a"}, {Name: "b"}})
	require.NoError(t, err)
	require.Equal(t, routes.Counts{Matched: 4, Created: 3, Suppressed: 1}, states[0].Hour)
	require.Equal(t, routes.Counts{Matched: 41, Created: 40, Suppressed: 1, Failed: 2}, states[0].Day)
	require.Equal(t, int64(1), states[1].Hour.Wrong())
}

// Postgres reads the counts of 100 routes from few buffers, without the minutes before the last
// hour. The routes are busy in every minute of the last day and of the next ten minutes, during
// which the test runs. The table also contains counts of another kind.
func TestCountsOfManyRoutesAreReadByTheirKeys(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOOKLATCH_LONG") == "" {
		t.Skip("inserts a million counts: HOOKLATCH_LONG=1")
	}
	filling := pgtest.New(t)
	_, err := filling.Exec(t.Context(), `INSERT INTO hooklatch.minutes (minute, kind, name, what, n)
		SELECT date_trunc('minute', now()) - m * interval '1 minute', kind, 'n' || i, what, 1
		FROM generate_series(-10, 1440) AS m, generate_series(1, 100) AS i, unnest(ARRAY['created', 'done', 'failed']) AS what, unnest(ARRAY['route', 'source']) AS kind`)
	require.NoError(t, err)
	_, err = filling.Exec(t.Context(), `INSERT INTO hooklatch.hours SELECT date_trunc('hour', minute), kind, name, what, sum(n) FROM hooklatch.minutes GROUP BY 1, 2, 3, 4`)
	require.NoError(t, err)
	_, err = filling.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)
	if !explained.Available(t.Context(), filling) {
		t.Skip("this build of Postgres has no auto_explain")
	}
	config, err := pgxpool.ParseConfig(pgtest.URL(t, filling))
	require.NoError(t, err)
	log := explained.Watch(config)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	measured, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	for name, most := range map[string]int{"": 30_000, "n7": 3_000} { // the minutes of the day have 432,000 counts of routes
		for range 3 { // the first query also reads the catalogue
			_, err := log.Take()
			require.NoError(t, err)
			counts, err := measured.ByName(t.Context(), measure.OfRoute, name)
			require.NoError(t, err)
			require.Equal(t, int64(60), counts["n7"].Hour[measure.Created])
			ran, err := log.Take()
			require.NoError(t, err)
			took, buffers := time.Duration(0), 0
			for _, s := range ran {
				took, buffers = took+s.Took, buffers+s.Buffers
			}
			t.Logf("%q: %s, %d pages", name, took, buffers)
			require.Less(t, buffers, most)
		}
	}
}
