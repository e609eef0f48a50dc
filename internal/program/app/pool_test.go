package app_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Session settings of a role or a database are overridden if they would break the listener or the
// queue's own statements. Other settings stay.
func TestSettingsOfSessionsAreSetAside(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for name, value := range map[string]string{
		"idle_session_timeout": "3s", "default_transaction_isolation": "serializable", "default_transaction_deferrable": "on", "work_mem": "5MB",
	} {
		_, err := pool.Exec(t.Context(), fmt.Sprintf("ALTER DATABASE %s SET %s = '%s'", pool.Config().ConnConfig.Database, name, value))
		require.NoError(t, err)
	}
	settings := func(opts app.PoolOptions) []string {
		t.Helper()
		opts.URL, opts.MaxConns = secret.New(pgtest.URL(t, pool)), 1
		made, err := app.NewPool(t.Context(), opts)
		require.NoError(t, err)
		defer made.Close()
		rows, err := made.Query(t.Context(), `SELECT current_setting(name)
			FROM unnest(ARRAY['idle_session_timeout', 'default_transaction_isolation', 'default_transaction_deferrable', 'work_mem']) AS name`)
		require.NoError(t, err)
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return got
	}
	require.Equal(t, []string{"0", "read committed", "off", "5MB"}, settings(app.PoolOptions{}))
	require.Equal(t, []string{"3s", "serializable", "on", "5MB"}, settings(app.PoolOptions{Pooled: true}), "a pooler gives its sessions to others")
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
		made, err := app.NewPool(t.Context(), app.PoolOptions{URL: secret.New(pgtest.URL(t, pool)), MaxConns: 1, Servers: known})
		require.NoError(t, err)
		defer made.Close()
		return made.Ping(t.Context())
	}
	onTimeline(1)
	require.NoError(t, connect())
	onTimeline(3)
	require.NoError(t, connect())
	onTimeline(2)
	require.ErrorContains(t, connect(), "the server is on timeline 2, and this process has worked on timeline 3 of the same system")
	onTimeline(4)
	require.NoError(t, connect())
}
