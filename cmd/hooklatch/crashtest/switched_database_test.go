package crashtest

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const (
	// readinessFollows is the time within which /readyz shows that the database became
	// unavailable or available. Only the long form of the test, on a quiet machine, enforces this
	// limit and trafficResumes.
	readinessFollows = 15 * time.Second
	// trafficResumes is the time within which deliveries are accepted again.
	trafficResumes = 10 * time.Second
)

// within returns the maximum wait: the required time in the long form, otherwise patience.
func within(required time.Duration) time.Duration {
	if long() {
		return required
	}
	return patience
}

// address stands for a DNS name of a database. It may lead to another server later, and open
// connections stay with the old server.
type address struct {
	net.Listener

	target atomic.Pointer[string]
}

func newAddress(t *testing.T) *address {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a := &address{Listener: listener}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go a.carry(from)
		}
	}()
	return a
}

func (a *address) carry(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", *a.target.Load())
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// lead makes the address lead to the server of pool.
func (a *address) lead(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	server := urlOf(t, pool).Host
	a.target.Store(&server)
}

func urlOf(t *testing.T, pool *pgxpool.Pool) *url.URL {
	t.Helper()
	u, err := url.Parse(pgtest.URL(t, pool))
	require.NoError(t, err)
	return u
}

// replacement prepares the second server as a promoted standby of the first server would be: with a
// database of the same name and Hooklatch's schema. It creates one login on both servers, and
// returns it.
func replacement(t *testing.T, g *process, first, second *pgxpool.Pool) *url.Userinfo {
	t.Helper()
	login := url.UserPassword("hooklatch", "hooklatch")
	for _, pool := range []*pgxpool.Pool{first, second} {
		_, err := pool.Exec(t.Context(), "CREATE ROLE hooklatch SUPERUSER LOGIN PASSWORD 'hooklatch'")
		require.NoError(t, err)
	}
	_, err := second.Exec(t.Context(), "CREATE DATABASE "+first.Config().ConnConfig.Database)
	require.NoError(t, err)
	target := urlOf(t, second)
	target.Path = urlOf(t, first).Path
	g.run(t, "migrate", "up", "--database-url", target.String())
	return login
}

// demote makes the server of pool a standby, which accepts connections and is read-only.
func demote(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	server := pgtest.Server(t, pool)
	require.NoError(t, os.WriteFile(filepath.Join(server.DataDir(), "standby.signal"), nil, 0o644))
	require.NoError(t, server.Restart(t.Context()))
	pool.Reset()
}

// promote makes a standby a primary. Its connections stay open.
func promote(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	_, err := pool.Exec(t.Context(), "SELECT pg_promote()")
	require.NoError(t, err)
}

// Postgres goes away, comes back as another primary under the same name, and becomes read-only. The
// process needs no restart, and its liveness probe never fails.
func TestPoolsFollowTheDatabase(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "gateway"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			followTheDatabase(t, command)
		})
	}
}

func followTheDatabase(t *testing.T, command string) {
	t.Helper()
	outage := 5 * time.Second
	if long() {
		outage = 5 * time.Minute
	}
	first := pgtest.New(t, pgtest.Own(), pgtest.MaxConns(2))
	second := pgtest.New(t, pgtest.Own(), pgtest.MaxConns(2))
	named := newAddress(t)
	g := newProcess(t, first, command, forward)
	at := urlOf(t, first)
	at.User, at.Host = replacement(t, g, first, second), named.Addr().String()
	g.reconfigure(t, pgtest.URL(t, first), at.String())
	g.impatient(t)
	named.lead(t, first)
	g.start(t)

	// The goroutine acts as a liveness probe.
	var failed atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			answer, err := g.client.Get(strings.TrimSuffix(g.ready, "readyz") + "healthz")
			if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
				failed.Add(1)
			}
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	readyz := func(want int, why string) {
		t.Helper()
		began := time.Now()
		require.Eventually(t, func() bool {
			answer, err := g.client.Get(g.ready)
			return err == nil && answer.Body.Close() == nil && answer.StatusCode == want
		}, within(readinessFollows), 50*time.Millisecond, why)
		t.Logf("%s: /readyz follows after %s", why, time.Since(began).Round(10*time.Millisecond))
	}
	accepts := func(id string) {
		t.Helper()
		require.Eventually(t, func() bool {
			status, _ := g.deliver(t.Context(), "invoice.paid", id)
			return status == http.StatusOK
		}, within(trafficResumes), 50*time.Millisecond, id)
	}
	accepts("evt_before")

	pgtest.Kill(pgtest.Server(t, first))
	readyz(http.StatusServiceUnavailable, "the database is away")
	time.Sleep(outage) //nolint:forbidigo // an outage takes time
	named.lead(t, second)
	accepts("evt_new_primary")
	readyz(http.StatusOK, "a new primary")

	demote(t, second)
	readyz(http.StatusServiceUnavailable, "the database is read-only")
	promote(t, second)
	accepts("evt_writable")
	readyz(http.StatusOK, "the database is writable")

	// The demoted primary keeps its connections. Without traffic only probes use them.
	demote(t, second)
	readyz(http.StatusServiceUnavailable, "the primary is demoted")
	demote(t, first)
	promote(t, first)
	named.lead(t, first)
	readyz(http.StatusOK, "the name leads to the new primary")
	accepts("evt_after")

	close(stop)
	<-stopped
	require.Zero(t, failed.Load(), "/healthz failed")
}
