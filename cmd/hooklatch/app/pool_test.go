package app_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/app"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// What a role or a database sets for its sessions, and a connection that waits or a
// statement of the queue would suffer from, is set aside. What people set for their own
// statements stays.
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
