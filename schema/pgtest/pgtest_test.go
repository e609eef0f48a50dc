package pgtest_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func ask[T any](t testing.TB, pool *pgxpool.Pool, query string) (value T) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&value))
	return value
}

func TestNewIsMigratedAndOfItsOwn(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			require.Less(t, ask[int](t, pool, "SELECT hooklatch.delivery_days_ahead()"), 14, "it was not migrated today")
			require.True(t, ask[bool](t, pool, "SELECT to_regclass('hooklatch.deliveries_' || to_char(now() AT TIME ZONE 'UTC' - interval '1 day', 'YYYYMMDD')) IS NOT NULL"))
			require.Zero(t, ask[int](t, pool, "SELECT count(*) FROM hooklatch.destinations"))
			_, err := pool.Exec(t.Context(), "INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ($1, 'http', 'q', '')", t.Name())
			require.NoError(t, err)
		})
	}
}

func TestEmptyAndMaxConns(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty(), pgtest.MaxConns(3))
	require.False(t, ask[bool](t, pool, "SELECT to_regnamespace('hooklatch') IS NOT NULL"))
	require.Equal(t, int32(3), pool.Config().MaxConns)
}

func TestPreparedIsFilledOnceAndCopied(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	fill := pgtest.Preparation(func(ctx context.Context, url string) error {
		runs.Add(1)
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, "CREATE TABLE number (n integer); INSERT INTO number VALUES (7)")
		return errors.Join(err, conn.Close(ctx))
	})
	t.Run("copies", func(t *testing.T) {
		for i := range 3 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				pool := pgtest.New(t, pgtest.Prepared(&fill))
				require.Equal(t, 7, ask[int](t, pool, "SELECT sum(n)::int FROM number"))
				_, err := pool.Exec(t.Context(), "INSERT INTO number VALUES (1)")
				require.NoError(t, err)
			})
		}
	})
	require.EqualValues(t, 1, runs.Load())
}

func TestDatabaseIsDroppedWithItsConnections(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("test", func(t *testing.T) {
		pool := pgtest.New(t)
		name = ask[string](t, pool, "SELECT current_database()")
		require.LessOrEqual(t, len(name), 63)
		conn, err := pgx.Connect(t.Context(), pgtest.URL(t, pool)) // left open
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	})
	pool := pgtest.New(t)
	require.False(t, ask[bool](t, pool, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = '"+name+"')"))
}

func TestDurableIsDurable(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_DATABASE_URL") != "" {
		t.Skip("TEST_DATABASE_URL's server has its own durability settings")
	}
	pool := pgtest.New(t, pgtest.Durable())
	require.Equal(t, "on", ask[string](t, pool, "SHOW fsync"))
	require.Equal(t, "on", ask[string](t, pool, "SHOW full_page_writes"))
	require.Equal(t, "on", ask[string](t, pool, "SHOW synchronous_commit"))
	require.Same(t, pgtest.Server(t, pool), pgtest.Server(t, pgtest.New(t, pgtest.Durable())), "shared")
}

func TestOwnServerCanBeKilled(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	server := pgtest.Server(t, pool)
	_, err := pool.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n")
	require.NoError(t, err)
	pgtest.Kill(server)
	require.Error(t, pool.Ping(t.Context()))
	require.NoError(t, server.Restart(t.Context()))
	require.Equal(t, 42, ask[int](t, pool, "SELECT n FROM kept"))
	pgtest.Kill(server) // the server is not restarted before the end of the test
}

func TestOwnServerMayStayPaused(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own())
	require.NoError(t, pool.Ping(t.Context()))
	require.NoError(t, pgtest.Pause(pgtest.Server(t, pool)))
}

func TestSetting(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Setting("max_connections", "23"), pgtest.Setting("work_mem", "5MB"), pgtest.MaxConns(2))
	require.Equal(t, "23", ask[string](t, pool, "SHOW max_connections"))
	require.Equal(t, "5MB", ask[string](t, pool, "SHOW work_mem"))
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		pgtest.New(b)
	}
}
