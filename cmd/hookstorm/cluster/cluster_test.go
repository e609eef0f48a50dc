package cluster_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/internal/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

func start(t *testing.T, opts cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	conn := connect(t, c.Primary("postgres"))
	_, err = conn.Exec(t.Context(), "CREATE TABLE cells (n bigint PRIMARY KEY)")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	return c
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// writer stores one number after another and records the acknowledged ones.
type writer struct {
	acked atomic.Int64 // how many numbers have been acknowledged so far
	last  chan []int64
	stop  context.CancelFunc
}

func write(t *testing.T, url string) *writer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &writer{last: make(chan []int64, 1), stop: cancel}
	t.Cleanup(cancel)
	go func() {
		var acked []int64
		var conn *pgx.Conn
		for n := int64(1); ctx.Err() == nil; n++ {
			// A number is tried once, so its outcome may stay unknown.
			try, end := context.WithTimeout(ctx, 2*time.Second)
			var err error
			if conn == nil || conn.IsClosed() {
				conn, err = pgx.Connect(try, url)
			}
			if err == nil {
				_, err = conn.Exec(try, "INSERT INTO cells VALUES ($1)", n)
			}
			end()
			if err == nil {
				acked = append(acked, n)
				w.acked.Store(int64(len(acked)))
			}
		}
		if conn != nil {
			_ = conn.Close(context.Background())
			<-conn.PgConn().CleanupDone()
		}
		w.last <- acked
	}()
	return w
}

// goesOn waits until more than 20 further numbers are acknowledged.
func (w *writer) goesOn(t *testing.T) {
	t.Helper()
	before := w.acked.Load()
	require.Eventually(t, func() bool { return w.acked.Load() > before+20 }, 2*time.Minute, time.Millisecond)
}

// requireStored stops the writer, and checks that the primary has all acknowledged numbers.
func (w *writer) requireStored(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	w.stop()
	acked := <-w.last
	var missing int
	require.NoError(t, connect(t, c.Primary("postgres")).QueryRow(t.Context(),
		"SELECT count(*) FROM unnest($1::bigint[]) AS acked (n) WHERE NOT EXISTS (SELECT FROM cells WHERE cells.n = acked.n)", acked).Scan(&missing))
	require.Zero(t, missing, "of %d", len(acked))
}

func proxied(t *testing.T, opts cluster.Options) (c *cluster.Cluster, url string) {
	t.Helper()
	proxy, err := pgproxy.Start(pgproxy.Options{})
	require.NoError(t, err)
	t.Cleanup(proxy.Stop)
	opts.OnPrimary = proxy.SetTarget
	c = start(t, opts)
	l, err := proxy.Listener("")
	require.NoError(t, err)
	url, err = l.URL(c.Primary("postgres"))
	require.NoError(t, err)
	return c, url
}

func TestARestartLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	c, url := proxied(t, cluster.Options{Durable: true})
	w := write(t, url)
	address := c.Address()
	for _, ending := range []cluster.Ending{cluster.Fast, cluster.Immediate, cluster.Killed} {
		w.goesOn(t)
		require.NoError(t, c.Restart(t.Context(), ending), ending)
		require.Equal(t, address, c.Address())
		w.goesOn(t)
	}
	require.Error(t, c.Restart(t.Context(), cluster.Frozen))
	require.Error(t, c.Restart(t.Context(), "softly"))
	require.ErrorContains(t, c.Promote(t.Context(), cluster.Fast), "there is none")
	w.requireStored(t, c)
}

func TestAPromotionLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	c, url := proxied(t, cluster.Options{Standby: true, Synchronous: true, Dir: openDir(t)})
	w := write(t, url)
	for _, ending := range []cluster.Ending{cluster.Killed, cluster.Fast, cluster.Frozen, cluster.Immediate} {
		w.goesOn(t)
		address := c.Address()
		require.NoError(t, c.Promote(t.Context(), ending), ending)
		require.NotEqual(t, address, c.Address())
		var synchronous int
		require.NoError(t, connect(t, c.Primary("postgres")).QueryRow(t.Context(),
			"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&synchronous))
		require.Equal(t, 1, synchronous, ending)
		w.goesOn(t)
		// The standby still exists after a crash of its primary.
		require.NoError(t, c.Restart(t.Context(), cluster.Killed))
	}
	w.goesOn(t)
	w.requireStored(t, c)
}

func TestAFrozenServerAnswersWhenItIsThawed(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Options{Standby: true, Synchronous: true})
	for _, one := range []struct{ freeze, thaw func() error }{{c.Freeze, c.Thaw}, {c.FreezeStandby, c.ThawStandby}} {
		conn := connect(t, c.Primary("postgres"))
		require.NoError(t, one.freeze())
		done := make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), "INSERT INTO cells SELECT count(*) FROM cells")
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("committed: %v", err)
		case <-time.After(200 * time.Millisecond): // no event shows that a response is missing
		}
		require.NoError(t, one.thaw())
		require.NoError(t, <-done)
	}
}

func TestAStoppedClusterIsGone(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Options{Standby: true})
	primary, standby := c.Primary("postgres"), c.Standby("postgres")
	require.NoError(t, c.Freeze())
	require.NoError(t, c.Stop(t.Context()))
	require.NoError(t, c.Stop(t.Context()))
	for _, url := range []string{primary, standby} {
		_, err := pgx.Connect(t.Context(), url)
		require.Error(t, err)
	}
	require.Error(t, c.Restart(t.Context(), cluster.Fast))
	require.Error(t, c.Promote(t.Context(), cluster.Fast))
}

// openDir returns a temporary directory that, unlike t.TempDir, the server's account can access.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hooklatch-test-") //nolint:usetesting // t.TempDir is closed to other accounts
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}
