package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

// templatePrefix is the prefix of the names of migrated templates. The day and the hash of the
// schema follow.
const templatePrefix = "hooklatch_template_"

// host is a server on which databases are created.
type host struct {
	server   *embedded.Server // nil for the server in TEST_DATABASE_URL
	own      bool             // true if only one test uses it
	base     url.URL          // connects to the maintenance database
	template string
	strategy string // clause in CREATE DATABASE

	mu   sync.Mutex  // guards idle
	idle []*pgx.Conn // connections to the maintenance database, for the next statement

	preparing sync.Mutex // held while a database is prepared
	prepared  map[*Preparation]preparation
}

// preparation is the result of a Preparation. An error is kept, so that later tests fail at once.
type preparation struct {
	name string
	err  error
}

// database is one test's database.
type database struct {
	host *host
	name string
}

// sharedSettings are the settings of the shared servers.
var sharedSettings = map[string]string{
	// While a test waits for its parallel subtests, its programs keep up to 30 connections open.
	// Several tests of a package can wait at the same time.
	"max_connections": "1000",
	// By default, autovacuum would start ten processes a second for hundreds of short-lived databases.
	"autovacuum_naptime": "1h",
	// Otherwise each connection would load the library at its first call of one of our functions.
	"shared_preload_libraries": "plpgsql",
}

// startHost starts a server on a copy of a cached cluster that contains the template.
func startHost(ctx context.Context, own, durable bool, settings map[string]string) (*host, error) {
	template := templateName(time.Now())
	server, err := embedded.Start(ctx, embedded.Options{
		Durable:    durable,
		Settings:   settings,
		PrepareKey: template,
		Prepare: func(ctx context.Context, server *embedded.Server) error {
			return makeTemplate(ctx, mustParse(server.URL("postgres")), template)
		},
	})
	if err != nil {
		return nil, err
	}
	h := &host{server: server, own: own, base: mustParse(server.URL("postgres")), template: template}
	if server.Major() >= 15 && !durable {
		// Without fsync, copying files is faster than logging every page.
		h.strategy = " STRATEGY file_copy"
	}
	if h.strategy != "" && !own { // only a copy of files contains the catalog's file
		if err := h.warm(ctx); err != nil {
			return nil, errors.Join(err, server.Stop(ctx))
		}
	}
	return h, nil
}

// warm connects to the template once. Postgres then writes the most used part of the catalog to a
// file, and each clone gets a copy of the file. Otherwise the first connection to each clone would
// have to read the catalog. A server removes such files when it starts.
func (h *host) warm(ctx context.Context) error {
	if err := h.admin(ctx, "ALTER DATABASE "+h.template+" WITH ALLOW_CONNECTIONS true"); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, h.url(h.template))
	if err != nil {
		return err
	}
	if err := conn.Close(ctx); err != nil {
		return err
	}
	return h.admin(ctx, "ALTER DATABASE "+h.template+" WITH ALLOW_CONNECTIONS false")
}

// foreignHost returns the server at a connection URL, and creates the template there if it is
// missing.
func foreignHost(ctx context.Context, rawURL string) (*host, error) {
	base, err := url.Parse(rawURL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%s must be a URL such as postgres://user:password@host:5432/postgres", urlEnv)
	}
	h := &host{base: *base, template: templateName(time.Now())}
	if err := shareTemplate(ctx, *base, h.template); err != nil {
		return nil, fmt.Errorf("%s: %w", urlEnv, err)
	}
	return h, nil
}

func mustParse(rawURL string) url.URL {
	u, err := url.Parse(rawURL)
	if err != nil {
		panic(err) // cannot happen: url.URL formatted rawURL
	}
	return *u
}

// url returns a database's connection URL.
func (h *host) url(database string) string {
	u := h.base
	u.Path = "/" + database
	return u.String()
}

// admin runs one statement on the maintenance database. On a shared server it keeps the connection
// for the next statement, because each new connection needs much CPU time. It uses no pool, because
// a pool's goroutines would look like leaks in the test.
func (h *host) admin(ctx context.Context, statement string) error {
	if h.own {
		return admin(ctx, h.base, statement)
	}
	h.mu.Lock()
	var conn *pgx.Conn
	if n := len(h.idle); n > 0 {
		conn, h.idle = h.idle[n-1], h.idle[:n-1]
	}
	h.mu.Unlock()
	if conn == nil {
		var err error
		if conn, err = pgx.Connect(ctx, h.base.String()); err != nil {
			return err
		}
	}
	if _, err := conn.Exec(ctx, statement); err != nil {
		return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle = append(h.idle, conn)
	return nil
}

// close closes the connections that admin kept.
func (h *host) close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, conn := range h.idle {
		errs = append(errs, conn.Close(ctx))
	}
	h.idle = nil
	return errors.Join(errs...)
}

// admin runs one statement on the maintenance database.
func admin(ctx context.Context, base url.URL, statement string) error {
	conn, err := pgx.Connect(ctx, base.String())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, statement)
	return err
}

// templateFor returns the database to copy for a test with the options.
func (h *host) templateFor(ctx context.Context, o options) (string, error) {
	switch {
	case o.prepared != nil:
		return h.prepare(ctx, o.prepared)
	case o.empty:
		return "template0", nil
	}
	return h.template, nil
}

// prepare returns the name of the database that p filled, and lets p fill it for the first test.
func (h *host) prepare(ctx context.Context, p *Preparation) (string, error) {
	h.preparing.Lock()
	defer h.preparing.Unlock()
	if made, found := h.prepared[p]; found {
		return made.name, made.err
	}
	made := preparation{name: databaseName("prepared")}
	if made.err = h.clone(ctx, made.name, "template0"); made.err == nil {
		made.err = (*p)(ctx, h.url(made.name))
	}
	if h.prepared == nil {
		h.prepared = map[*Preparation]preparation{}
	}
	h.prepared[p] = made
	return made.name, made.err
}

// dropPrepared removes the databases from which the tests' databases were copied.
func (h *host) dropPrepared(ctx context.Context) error {
	h.preparing.Lock()
	defer h.preparing.Unlock()
	var err error
	for _, made := range h.prepared {
		err = errors.Join(err, h.admin(ctx, "DROP DATABASE IF EXISTS "+made.name+" WITH (FORCE)"))
	}
	return err
}

// clone creates a database from a template.
func (h *host) clone(ctx context.Context, name, template string) error {
	statement := "CREATE DATABASE " + name + " TEMPLATE " + template + h.strategy
	if err := h.admin(ctx, statement); err != nil {
		return fmt.Errorf("make database %s: %w", name, err)
	}
	return nil
}

func (h *host) drop(ctx context.Context, name string) error {
	return h.admin(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
}

// templateName returns a name that changes with the schema and with the day, because the
// template contains partitions for the days around its creation.
func templateName(now time.Time) string {
	return templatePrefix + now.UTC().Format("20060102") + "_" + schema.Hash()
}

// makeTemplate creates a migrated database that refuses connections. The database gets its final
// name last, so that a template is complete or does not exist.
func makeTemplate(ctx context.Context, base url.URL, template string) error {
	building := databaseName("building")
	if err := admin(ctx, base, "CREATE DATABASE "+building+" TEMPLATE template0"); err != nil {
		return err
	}
	target := base
	target.Path = "/" + building
	if err := migrate(ctx, target.String()); err != nil {
		return err
	}
	for _, statement := range []string{
		"ALTER DATABASE " + building + " WITH ALLOW_CONNECTIONS false IS_TEMPLATE true",
		"ALTER DATABASE " + building + " RENAME TO " + template,
	} {
		if err := admin(ctx, base, statement); err != nil {
			return err
		}
	}
	return nil
}

func migrate(ctx context.Context, target string) error {
	pool, err := pgxpool.New(ctx, target)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	if err != nil {
		return err
	}
	if _, err = migrator.Up(ctx); err != nil {
		return err
	}
	if err := leaveToYesterday(ctx, pool); err != nil {
		return err
	}
	return publish(ctx, pool)
}

// publish creates a publication of all our tables, if the server and our rights allow one, so
// that every test runs under it. Postgres then refuses to change or delete rows that no key
// identifies.
func publish(ctx context.Context, pool *pgxpool.Pool) error {
	var may bool
	err := pool.QueryRow(ctx, "SELECT rolsuper AND current_setting('server_version_num')::integer >= 150000 FROM pg_roles WHERE rolname = current_user").Scan(&may)
	if err != nil || !may {
		return err
	}
	_, err = pool.Exec(ctx, "CREATE PUBLICATION everything FOR TABLES IN SCHEMA "+string(schema.Default))
	return err
}

// shareTemplate creates the template, if it is missing, on a server that other test binaries use
// simultaneously. Before it creates the template, it removes templates that are older than
// yesterday's.
func shareTemplate(ctx context.Context, base url.URL, template string) error {
	conn, err := pgx.Connect(ctx, base.String())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", templatePrefix); err != nil {
		return err
	}
	rows, err := conn.Query(ctx, "SELECT datname::text FROM pg_database WHERE starts_with(datname, $1)", templatePrefix)
	if err != nil {
		return err
	}
	present, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	yesterday := templatePrefix + time.Now().UTC().AddDate(0, 0, -1).Format("20060102")
	for _, name := range present {
		if name == template {
			return nil
		}
		if name >= yesterday {
			continue
		}
		for _, statement := range []string{"ALTER DATABASE " + name + " WITH IS_TEMPLATE false", "DROP DATABASE " + name} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return err
			}
		}
	}
	return makeTemplate(ctx, base, template)
}

var notForNames = regexp.MustCompile(`[^a-z0-9]+`)

// databaseName derives a unique name of at most 63 bytes from a test's name.
func databaseName(test string) string {
	name := "t_" + strings.Trim(notForNames.ReplaceAllString(strings.ToLower(test), "_"), "_")
	return name[:min(len(name), 50)] + "_" + strings.ToLower(rand.Text()[:12])
}
