package pgproxy_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// bundle is a database with one table, a proxy in front of it, and a pool that bypasses the
// proxy.
type bundle struct {
	*pgproxy.Proxy
	sound  *pgxpool.Pool
	server string // URL of the server
}

func setup(t *testing.T) *bundle {
	t.Helper()
	sound := pgtest.New(t, pgtest.Empty())
	_, err := sound.Exec(t.Context(), "CREATE TABLE cells (value text)")
	require.NoError(t, err)
	server := pgtest.URL(t, sound)
	proxy, err := pgproxy.Start(pgproxy.Options{Target: address(t, server)})
	require.NoError(t, err)
	t.Cleanup(proxy.Stop)
	return &bundle{Proxy: proxy, sound: sound, server: server}
}

func address(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	return u.Host
}

// url returns the URL of the database through a listener.
func (b *bundle) url(t *testing.T, listener string) string {
	t.Helper()
	l, err := b.Listener(listener)
	require.NoError(t, err)
	through, err := l.URL(b.server)
	require.NoError(t, err)
	return through
}

// pool returns a pool whose connections use a listener.
func (b *bundle) pool(t *testing.T, listener string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(b.url(t, listener))
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["application_name"] = "app " + listener
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// arm activates a fault until the end of the test.
func (b *bundle) arm(t *testing.T, fault pgproxy.Fault) *pgproxy.Armed {
	t.Helper()
	armed, err := b.Arm(fault)
	require.NoError(t, err)
	t.Cleanup(armed.Disarm)
	return armed
}

// store writes one row in a transaction and returns the error of its COMMIT.
func store(ctx context.Context, t *testing.T, pool *pgxpool.Pool) error {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO cells VALUES ($1)", t.Name())
	require.NoError(t, err)
	err = tx.Commit(ctx)
	_ = tx.Rollback(t.Context()) // returns the connection to the pool
	return err
}

// rows counts the committed rows, after all writing transactions have ended.
func (b *bundle) rows(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), b.sound, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "LOCK TABLE cells IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		return tx.QueryRow(t.Context(), "SELECT count(*) FROM cells").Scan(&n)
	}))
	return n
}

// next returns the next firing of a fault.
func next(t *testing.T, armed *pgproxy.Armed) pgproxy.Firing {
	t.Helper()
	select {
	case firing := <-armed.Fired():
		return firing
	case <-time.After(2 * time.Minute):
		require.Fail(t, "the fault did not fire")
		return pgproxy.Firing{}
	}
}

func requireCode(t *testing.T, code string, err error) {
	t.Helper()
	said, answered := errors.AsType[*pgconn.PgError](err)
	require.True(t, answered, "%v", err)
	require.Equal(t, code, said.Code)
}

func requireUnanswered(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	_, answered := errors.AsType[*pgconn.PgError](err)
	require.False(t, answered, "%v", err)
}
