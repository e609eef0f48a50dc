package commit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestPreparePoolKeepsTheHooksOfItsConfig(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	config, err := pgxpool.ParseConfig(pgtest.URL(t, pool))
	require.NoError(t, err)
	notices := make(chan string, 1)
	connected := make(chan struct{}, 10)
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices <- n.Message }
	config.AfterConnect = func(context.Context, *pgx.Conn) error { connected <- struct{}{}; return nil }
	PreparePool(config)
	prepared, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer prepared.Close()
	_, err = prepared.Exec(t.Context(), `DO $$ BEGIN RAISE NOTICE 'hello'; END $$`)
	require.NoError(t, err)
	require.Equal(t, "hello", <-notices)
	require.NotEmpty(t, connected)
}

// A warning that a trigger raises during COMMIT is not about the standby. A warning about the
// standby may lack the server's function if it comes through a pooler.
func TestBrokenWaitIsToldByTheServersFunction(t *testing.T) {
	t.Parallel()
	require.True(t, isBrokenWait(&pgconn.Notice{Routine: "SyncRepWaitForLSN", Message: "storniere Warten auf synchrone Replikation"}))
	require.True(t, isBrokenWait(&pgconn.Notice{Message: "canceling wait for synchronous replication due to user request"}))
	require.False(t, isBrokenWait(&pgconn.Notice{Routine: "exec_stmt_raise", Message: "no wait for synchronous replication"}))
	require.False(t, isBrokenWait(&pgconn.Notice{Message: "hello"}))
}
