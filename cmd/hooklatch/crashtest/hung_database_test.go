package crashtest

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// If Postgres hangs while an attempt is in progress, a shutdown still finishes within its time
// limit. The log names the steps that did not finish.
func TestAHungDatabaseDoesNotHoldAStop(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Own(), pgtest.MaxConns(4))
	receiver := newBlockedReceiver(t)
	g := newProcess(t, pool, "serve", quickAndSlow(receiver))
	g.start(t)
	status, _ := g.deliver(t.Context(), "slow", "evt_1")
	require.Equal(t, http.StatusOK, status)
	<-receiver.arrived
	server := pgtest.Server(t, pool)
	require.NoError(t, pgtest.Pause(server))
	t.Cleanup(func() { _ = pgtest.Resume(server) })
	receiver.release() // the settlement cannot be committed
	require.NoError(t, g.cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- g.cmd.Wait() }()
	select {
	case err := <-ended:
		g.cmd = nil
		require.Error(t, err, "some steps of the stop did not end")
		require.Contains(t, g.log.String(), "stop worker: ")
	case <-time.After(patience):
		t.Fatal("SIGTERM did not end the process")
	}
	require.NoError(t, pgtest.Resume(server))
}
