package app_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// named is a database whose URL has a host name, and the name servers for this name.
type named struct {
	servers *app.Servers
	address string // the address at which Postgres listens; no server listens at 127.0.0.254
	lookups atomic.Int64
	answer  atomic.Pointer[func(context.Context) ([]string, error)]
}

// pool returns a pool whose URL contains the names of hosts.
func (n *named) pool(t *testing.T, database *pgxpool.Pool, conns int, names ...string) *pgxpool.Pool {
	t.Helper()
	address, err := url.Parse(patientURL(t, database))
	require.NoError(t, err)
	n.address = address.Hostname()
	for i, name := range names {
		names[i] = net.JoinHostPort(name, address.Port())
	}
	address.Host = strings.Join(names, ",")
	if n.servers == nil {
		n.servers = app.NewServers("")
		n.servers.SetLookup(func(ctx context.Context, host string) ([]string, error) {
			if host == "db.internal" {
				n.lookups.Add(1)
			}
			return (*n.answer.Load())(ctx)
		})
		n.respond([]string{"127.0.0.254", n.address}, nil)
	}
	made, err := app.NewPool(t.Context(), app.PoolOptions{URL: secret.New(address.String()), MaxConns: conns, Servers: n.servers})
	require.NoError(t, err)
	t.Cleanup(made.Close)
	return made
}

func (n *named) respond(addrs []string, err error) {
	f := func(context.Context) ([]string, error) { return addrs, err }
	n.answer.Store(&f)
}

// hang makes all lookups hang until the test ends.
func (n *named) hang(t *testing.T) {
	t.Helper()
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	f := func(context.Context) ([]string, error) {
		<-released
		return nil, net.ErrClosed
	}
	n.answer.Store(&f)
}

// If name servers do not respond, new connections use the address of the latest successful one.
// They do so even if the URL also has a name that was never looked up. The new connections share
// one lookup.
func TestConnectionsAreMadeWhileNameServersHang(t *testing.T) {
	t.Parallel()
	var n named
	database := pgtest.New(t)
	pool := n.pool(t, database, 5, "db.internal")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, pool.Ping(ctx))

	n.hang(t)
	n.lookups.Store(0)
	pool.Reset()
	other := n.pool(t, database, 5, "standby.internal", "db.internal") // has made no connection yet
	for range 5 {
		for _, from := range []*pgxpool.Pool{pool, other} {
			conn, err := from.Acquire(ctx)
			require.NoError(t, err)
			defer conn.Release()
		}
	}
	require.EqualValues(t, 1, n.lookups.Load())
}

// A name server that fails is like one that does not respond. If a name no longer exists, the
// process does not connect to its earlier addresses: an operator may have removed the name on
// purpose.
func TestConnectionsUseNoEarlierAddressOfARemovedName(t *testing.T) {
	t.Parallel()
	var n named
	pool := n.pool(t, pgtest.New(t), 1, "db.internal")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	failed := &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	n.respond(nil, failed)
	require.ErrorIs(t, pool.Ping(ctx), failed, "no connection has succeeded yet")
	n.respond([]string{"127.0.0.254", n.address}, nil)
	require.NoError(t, pool.Ping(ctx))
	n.respond(nil, failed)
	pool.Reset()
	require.NoError(t, pool.Ping(ctx))
	gone := &net.DNSError{Err: "no such host", IsNotFound: true}
	n.respond(nil, gone)
	pool.Reset()
	require.ErrorIs(t, pool.Ping(ctx), gone)
	n.respond([]string{"127.0.0.254"}, nil)
	require.ErrorContains(t, pool.Ping(ctx), "127.0.0.254", "the name server responds again")
}
