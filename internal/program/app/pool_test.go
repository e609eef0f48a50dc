package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// patientURL returns the URL of a database, with a long connect timeout for a busy machine.
func patientURL(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	return pgtest.URL(t, pool) + "&connect_timeout=60"
}

// Session settings of a role or a database are overridden if they would break the listener or the
// queue's own statements. Other settings stay.
func TestSettingsOfSessionsAreSetAside(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for name, value := range map[string]string{
		"idle_session_timeout": "3s", "default_transaction_isolation": "serializable", "default_transaction_deferrable": "on",
		"default_transaction_read_only": "on", "work_mem": "5MB",
	} {
		_, err := pool.Exec(t.Context(), fmt.Sprintf("SET default_transaction_read_only = off; ALTER DATABASE %s SET %s = '%s'", pool.Config().ConnConfig.Database, name, value))
		require.NoError(t, err)
	}
	settings := func(opts app.PoolOptions) []string {
		t.Helper()
		opts.URL, opts.MaxConns = secret.New(patientURL(t, pool)), 1
		made, err := app.NewPool(t.Context(), opts)
		require.NoError(t, err)
		defer made.Close()
		rows, err := made.Query(t.Context(), `SELECT current_setting(name)
			FROM unnest(ARRAY['idle_session_timeout', 'default_transaction_isolation', 'default_transaction_deferrable', 'default_transaction_read_only',
				'work_mem']) AS name`)
		require.NoError(t, err)
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return got
	}
	require.Equal(t, []string{"0", "read committed", "off", "off", "5MB"}, settings(app.PoolOptions{}))
	require.Equal(t, []string{"3s", "serializable", "on", "on", "5MB"}, settings(app.PoolOptions{Pooled: true}), "a pooler shares its sessions with other clients")
}

// A database that is read-only by default stops neither deliveries nor the queue. The process logs
// a warning, because the setting still applies to the sessions of applications.
func TestADatabaseThatIsReadOnlyByDefaultIsWrittenTo(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), fmt.Sprintf("ALTER DATABASE %s SET default_transaction_read_only = on", pool.Config().ConnConfig.Database))
	require.NoError(t, err)
	f := newFile(t, pgtest.URL(t, pool))
	f.write(t, first)
	var logs syncBuffer
	a := started(t, f, &logs)
	deliver(t, a, "stripe", "the-first-secret")
	require.Eventually(t, func() bool {
		var attempts int
		return pool.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.attempts`).Scan(&attempts) == nil && attempts > 0
	}, patience, 10*time.Millisecond, "the effect is tried")
	require.NotContains(t, logs.String(), "25006")
	require.Contains(t, logs.String(), "transactions are read-only by default")
}

// A demoted server refuses only one statement of the queue: after that, the pool replaces all
// connections to the server.
func TestADemotedServerRefusesOneStatement(t *testing.T) {
	t.Parallel()
	made, err := app.NewPool(t.Context(), app.PoolOptions{URL: secret.New(patientURL(t, pgtest.New(t))), MaxConns: 5})
	require.NoError(t, err)
	defer made.Close()
	_, err = made.Exec(t.Context(), `CREATE TABLE written (n int)`)
	require.NoError(t, err)
	for _, conn := range acquireAll(t, made) {
		_, err := conn.Exec(t.Context(), `SET default_transaction_read_only = on`) // simulates a demoted server
		require.NoError(t, err)
		conn.Release()
	}
	refused := 0
	for range 10 {
		if _, err := made.Exec(t.Context(), `INSERT INTO written VALUES (1)`); err != nil {
			require.ErrorContains(t, err, "25006")
			refused++
		}
	}
	require.Equal(t, 1, refused)
}

func acquireAll(t *testing.T, pool *pgxpool.Pool) (all []*pgxpool.Conn) {
	t.Helper()
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		all = append(all, conn)
	}
	return all
}

// After a failover, connections go to the next host, not to the former primary.
func TestAPrimaryOfThePastIsRefused(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	onTimeline := func(n int) {
		_, err := pool.Exec(t.Context(), fmt.Sprintf(`CREATE OR REPLACE FUNCTION hooklatch.this_server(OUT system_id bigint, OUT timeline integer)
			LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT 1::bigint, %d'`, n))
		require.NoError(t, err)
	}
	known := app.NewServers("")
	connect := func() error {
		made, err := app.NewPool(t.Context(), app.PoolOptions{URL: secret.New(patientURL(t, pool)), MaxConns: 1, Servers: known})
		require.NoError(t, err)
		defer made.Close()
		return made.Ping(t.Context())
	}
	onTimeline(1)
	require.NoError(t, connect())
	onTimeline(3)
	require.NoError(t, connect())
	onTimeline(2)
	require.ErrorContains(t, connect(), "the server is on timeline 2, but this process has used timeline 3 of the same system")
	onTimeline(4)
	require.NoError(t, connect())
}
