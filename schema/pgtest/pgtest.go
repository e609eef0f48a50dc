// Package pgtest gives each test a real, migrated Postgres database.
//
// The first test that needs a database starts one server for all tests of its binary, unless
// TEST_DATABASE_URL names a server to use. Each database is a clone of a migrated template.
// Creating one takes about 30 ms.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		pool := pgtest.New(t)
//		...
//	}
package pgtest

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/schema/embedded"
)

// defaultMaxConns is the default size of a test's pool.
const defaultMaxConns = 10

// setupTimeout limits the setup before and the cleanup after a test.
const setupTimeout = 2 * time.Minute

// Option changes the database or the pool that New creates.
type Option func(*options)

type options struct {
	empty    bool
	prepared *Preparation
	durable  bool
	own      bool
	maxConns int32
	settings map[string]string
}

// Empty creates the database without our schema, for migration tests.
func Empty() Option { return func(o *options) { o.empty = true } }

// Preparation fills a database that several tests of a binary begin with. It runs once for each
// server, on an empty database, and must close its connections. Settings of the database (ALTER
// DATABASE) do not reach the copies.
type Preparation func(ctx context.Context, url string) error

// Prepared creates the database as a copy of one that the preparation filled. Tests that pass the
// same pointer get copies of the same database.
func Prepared(p *Preparation) Option { return func(o *options) { o.prepared = p } }

// MaxConns sets the pool's size. Default: 10.
func MaxConns(n int) Option { return func(o *options) { o.maxConns = int32(n) } }

// Durable creates the database on a shared server with fsync and full_page_writes on, for
// benchmarks. If TEST_DATABASE_URL is set, the database is on the server that it names.
func Durable() Option { return func(o *options) { o.durable = true } }

// Own starts a separate server for this test, even with TEST_DATABASE_URL. It is for tests
// that kill, restart or freeze their server. See Server.
func Own() Option { return func(o *options) { o.own = true } }

// Setting starts a separate server for this test, as Own does, and sets one of the parameters of
// postgresql.conf.
func Setting(name, value string) Option {
	return func(o *options) {
		o.own = true
		if o.settings == nil {
			o.settings = map[string]string{}
		}
		o.settings[name] = value
	}
}

// New returns a pool on a fresh database with our schema. At the end of the test, the pool is
// closed and the database is removed. The database of a failed test is kept as long as its server
// runs, and the command to connect to it is logged. On a machine without Postgres the test fails
// with instructions to install it.
func New(t testing.TB, opts ...Option) *pgxpool.Pool {
	t.Helper()
	o := options{maxConns: defaultMaxConns}
	for _, opt := range opts {
		opt(&o)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout)
	defer cancel()

	host, err := hostFor(ctx, t, o)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	name := databaseName(t.Name())
	template, err := host.templateFor(ctx, o)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if err := host.clone(ctx, name, template); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	db := &database{host: host, name: name}
	config, err := pgxpool.ParseConfig(host.url(name))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	config.MaxConns = o.maxConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	remember(pool, db)
	t.Cleanup(func() { finish(t, pool, db) })
	return pool
}

// URL returns the connection URL of the database behind a pool from New.
func URL(t testing.TB, pool *pgxpool.Pool) string {
	t.Helper()
	db := lookup(pool)
	if db == nil {
		t.Fatalf("pgtest: the pool is not from New, or its test is over")
	}
	return db.host.url(db.name)
}

// Server returns the server behind a pool from New. Call Stop, Kill and Pause only for servers
// started with Own or Setting, because tests share all others.
func Server(t testing.TB, pool *pgxpool.Pool) *embedded.Server {
	t.Helper()
	db := lookup(pool)
	if db == nil {
		t.Fatalf("pgtest: the pool is not from New, or its test is over")
	}
	if db.host.server == nil {
		t.Fatalf("pgtest: the server of TEST_DATABASE_URL is not ours: use pgtest.Own()")
	}
	return db.host.server
}

// hostFor returns the server that the options request.
func hostFor(ctx context.Context, t testing.TB, o options) (*host, error) {
	t.Helper()
	if !o.own {
		return sharedHost(ctx, o.durable)
	}
	host, err := startHost(ctx, true, o.durable, maps.Clone(o.settings))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if t.Failed() && keeping() {
			stopLater(host)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
		defer cancel()
		if err := host.server.Stop(ctx); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return host, nil
}

// finish closes the pool, and removes the database unless the test failed.
func finish(t testing.TB, pool *pgxpool.Pool, db *database) {
	t.Helper()
	forget(pool)
	if db.host.own {
		// Closing the pool would wait for a frozen server.
		_ = Resume(db.host.server) // fails if the test has killed the server
	}
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute): // on a busy machine, background work ends late
		t.Errorf("pgtest: the test is over but %d of its connections were not given back to the pool", pool.Stat().AcquiredConns())
	}
	if t.Failed() {
		keep(t, db)
		return
	}
	if db.host.own {
		return // removed with its server
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	if err := db.host.drop(ctx, db.name); err != nil {
		t.Errorf("pgtest: drop database %s: %v", db.name, err)
	}
}
