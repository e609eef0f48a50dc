package worker

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A listener receives the next notification even if its connection was lost several times, and its
// wait does not grow.
func TestAListenerConnectsAgain(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var log syncBuffer
	l := newDriver(pool, slog.New(slog.NewTextHandler(&log, nil))).GetListener(&riverdriver.GetListenenerParams{Schema: string(schema.Default)})
	require.NoError(t, l.Connect(t.Context()))
	t.Cleanup(func() { require.NoError(t, l.Close(t.Context())) })
	require.NoError(t, l.Listen(t.Context(), "one"))
	require.NoError(t, l.Listen(t.Context(), "other"))
	require.NoError(t, l.Unlisten(t.Context(), "other"))
	for i := range 12 {
		want, heard := strconv.Itoa(i), make(chan error, 1)
		go func() { // earlier notifications may still arrive
			for {
				n, err := l.WaitForNotification(t.Context())
				if err == nil && n.Topic != "one" {
					err = errors.New("it listens to " + n.Topic)
				}
				if err != nil || n.Payload == want {
					heard <- err
					return
				}
			}
		}()
		if i > 0 {
			tag, err := pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%LISTEN "%'`)
			require.NoError(t, err)
			require.EqualValues(t, 1, tag.RowsAffected())
		}
		require.Eventually(t, func() bool {
			_, err := pool.Exec(t.Context(), `SELECT pg_notify('hooklatch.other', 'x'), pg_notify('hooklatch.one', $1)`, want)
			require.NoError(t, err)
			select {
			case err := <-heard:
				require.NoError(t, err)
				return true
			default:
				return false
			}
		}, time.Minute, 10*time.Millisecond)
	}
	require.Equal(t, 11, bytes.Count(log.bytes(), []byte("no notifications arrive")), "once for each lost connection")
	require.Equal(t, 11, bytes.Count(log.bytes(), []byte("notifications arrive again")))
}
