//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestABackupOfABusyServerBecomesItsStandby(t *testing.T) {
	t.Parallel()
	primary := startServer(t, Options{})
	busy := connect(t, primary.URL("postgres"))
	_, err := busy.Exec(t.Context(), "CREATE TABLE cells (n int); INSERT INTO cells SELECT generate_series(1, 1000); SELECT pg_create_physical_replication_slot('archive', true)")
	require.NoError(t, err)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := busy.Exec(context.Background(), "UPDATE cells SET n = n + 1"); err != nil {
				done <- err
				return
			}
		}
	}()

	conn := connect(t, primary.URL("postgres"))
	begin, end := primary.BackupStatements()
	standby := startServer(t, Options{Backup: &Backup{
		Of: primary,
		Begin: func(ctx context.Context) error {
			_, err := conn.Exec(ctx, begin)
			return err
		},
		End: func(ctx context.Context) (map[string]string, error) {
			var label string
			err := conn.QueryRow(ctx, end).Scan(&label)
			return map[string]string{
				"backup_label": label, "standby.signal": "",
				"postgresql.auto.conf": fmt.Sprintf("primary_conninfo = 'host=127.0.0.1 port=%d user=%s password=%s'\n", primary.port, Superuser, primary.password),
			}, err
		},
	}})
	close(stop)
	require.NoError(t, <-done)
	var want, lsn string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT sum(n)::text, pg_current_wal_lsn()::text FROM cells").Scan(&want, &lsn))

	copied := connect(t, standby.URL("postgres"))
	require.Eventually(t, func() bool {
		var there bool
		err := copied.QueryRow(t.Context(), "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", lsn).Scan(&there)
		return err == nil && there
	}, 2*time.Minute, 5*time.Millisecond)
	var got string
	require.NoError(t, copied.QueryRow(t.Context(), "SELECT sum(n)::text FROM cells").Scan(&got))
	require.Equal(t, want, got)
	_, err = copied.Exec(t.Context(), "DELETE FROM cells")
	require.ErrorContains(t, err, "25006")
}

func TestAFailedBackupIsNoServer(t *testing.T) {
	t.Parallel()
	primary := startServer(t, Options{})
	broken := errors.New("no slot")
	_, err := Start(t.Context(), Options{Backup: &Backup{
		Of:    primary,
		Begin: func(context.Context) error { return broken },
	}})
	require.ErrorIs(t, err, broken)
}

func TestAnAbortedOrKilledServerComesBack(t *testing.T) {
	t.Parallel()
	server := startServer(t, Options{})
	for _, end := range []func(){
		func() { require.NoError(t, server.Abort(t.Context())) },
		server.Kill,
	} {
		conn := connect(t, server.URL("postgres"))
		_, err := conn.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS cells (n int); INSERT INTO cells VALUES (1)")
		require.NoError(t, err)
		end()
		require.Zero(t, server.PID())
		end() // the second call finds no process to stop
		_, err = pgx.Connect(t.Context(), server.URL("postgres"))
		require.Error(t, err)
		require.NoError(t, server.Restart(t.Context()))
	}
	var rows int
	require.NoError(t, connect(t, server.URL("postgres")).QueryRow(t.Context(), "SELECT count(*) FROM cells").Scan(&rows))
	require.Equal(t, 2, rows)
}
