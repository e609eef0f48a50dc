package patroni_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/patroni"
	"github.com/hooklatch/hooklatch/internal/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

// start starts a cluster. The cluster is real: the first start downloads Debian's packages, and a
// failover takes half a minute.
func start(t *testing.T, synchronous bool) *patroni.Cluster {
	t.Helper()
	if os.Getenv("HOOKLATCH_LONG") == "" && os.Getenv("HOOKLATCH_PATRONI") == "" {
		t.Skip("set HOOKLATCH_PATRONI, or HOOKLATCH_LONG: the test takes a minute and Debian's packages")
	}
	dir, err := os.MkdirTemp("", "hooklatch-test-") //nolint:usetesting // t.TempDir is closed to other accounts
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	c, err := patroni.Start(t.Context(), patroni.Options{Dir: dir + "/cluster", Synchronous: synchronous, History: history.NewWriter(io.Discard)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	return c
}

func TestAFailoverKeepsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	c := start(t, true)
	write := func(url string, n int) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		defer conn.Close(t.Context())
		_, err = conn.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS cells (n bigint PRIMARY KEY)")
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "INSERT INTO cells VALUES ($1)", n)
		require.NoError(t, err)
		var there int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM cells").Scan(&there))
		require.Equal(t, n, there)
	}
	write(c.ThroughHAProxy("postgres"), 1)
	write(c.Hosts("postgres"), 2)
	n := 2
	for _, loss := range []patroni.Loss{patroni.Deposed, patroni.Killed} {
		started := time.Now()
		require.NoError(t, c.FailOver(t.Context(), loss, func(target, detail string) { t.Log(target, detail) }))
		t.Logf("the cluster was whole again after %s", time.Since(started))
		n++
		write(c.Hosts("postgres"), n)
	}
	require.NoError(t, c.SwitchOver(t.Context(), func(target, _ string) { t.Log("from", target) }))
	write(c.ThroughHAProxy("postgres"), n+1)
}
