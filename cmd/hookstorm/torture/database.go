package torture

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/patroni"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

// database is the database of a run, on the run's own servers or on the caller's server.
type database struct {
	name    string
	cluster *cluster.Cluster // the run's own primary and standby; nil on other servers
	patroni *patroni.Cluster // the run's own servers under Patroni; nil on other servers
	server  *url.URL         // the caller's server
}

// url returns the URL of the database on the current primary.
func (d *database) url() string {
	switch {
	case d.cluster != nil:
		return d.cluster.Primary(d.name)
	case d.patroni != nil:
		return d.patroni.ThroughHAProxy(d.name)
	}
	u := *d.server
	u.Path = "/" + d.name
	return u.String()
}

// address returns the primary's address, host:port.
func (d *database) address() string {
	switch {
	case d.cluster != nil:
		return d.cluster.Address()
	case d.patroni != nil:
		return d.patroni.Address()
	}
	return d.server.Host
}

// startDatabase creates the database, Hooklatch's tables and the run's tables.
func (w *world) startDatabase(ctx context.Context) error {
	w.database.name = "hookstorm_" + uuid.NewString()[:8]
	if err := w.startServers(ctx); err != nil {
		return err
	}
	if err := w.createDatabase(ctx); err != nil {
		return err
	}
	config, err := stage.Config(w.database.url())
	if err != nil {
		return err
	}
	// Each new connection goes to the current primary, which may have changed.
	config.ConnConfig.ConnectTimeout = connectTimeout
	config.MaxConns = ownConns
	commit.PreparePool(config)
	config.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) error {
		now, err := pgx.ParseConfig(w.database.url())
		if err != nil {
			return errors.New("the URL of the database cannot be read")
		}
		conn.Host, conn.Port, conn.Password, conn.Fallbacks = now.Host, now.Port, now.Password, nil
		return nil
	}
	if w.primary, err = w.Connect(ctx, config); err != nil {
		return err
	}
	if err := stage.Prepare(ctx, w.primary); err != nil {
		return err
	}
	return past.Prepare(ctx, w.primary)
}

// startServers starts the run's own servers, or prepares to use the caller's server.
func (w *world) startServers(ctx context.Context) error {
	switch {
	case !w.opts.DSN.IsZero():
		return w.useServer()
	case w.opts.Cluster == Patroni:
		return w.startPatroni(ctx)
	default:
		return w.startCluster(ctx)
	}
}

// ownDisk is the size in bytes of a disk that a fault fills. A run of ten minutes needs a third of
// this size. Only the used part takes memory.
const ownDisk = 3 << 30

// startCluster starts the run's own servers. A killed server stays down until the run starts it,
// because an automatic restart can hide a crash.
func (w *world) startCluster(ctx context.Context) (err error) {
	var disk int64
	if w.opts.OwnDisks {
		disk = ownDisk
	}
	w.database.cluster, err = w.Postgres(ctx, cluster.Options{
		SmallDisk: disk, Dir: filepath.Join(w.Dir, "postgres"), Standby: !w.opts.NoStandby, Synchronous: !w.opts.NoStandby,
		Settings: map[string]string{"max_connections": "200"},
		OnPrimary: func(address string) {
			if w.proxy != nil {
				w.proxy.SetTarget(address)
				w.primary.Reset()
			}
		},
	})
	return err
}

// useServer uses the caller's server, without any server faults.
func (w *world) useServer() error {
	u, err := url.Parse(w.opts.DSN.Reveal())
	if err != nil || u.Host == "" {
		return errors.New("the DSN is not a URL like postgres://user:password@host:port/")
	}
	w.database.server = u
	w.left = append(w.left, "faults of the server, because the run does not own it: restarts, crashes, promotions, a full disk")
	return nil
}

// mark is the comment of a database that a run created and may drop.
const mark = "made by hookstorm torture, which drops it"

// createDatabase creates a database for this run alone, and marks it. It touches nothing else on
// the caller's server, and drops the database there when the stage stops.
func (w *world) createDatabase(ctx context.Context) error {
	maintenance := "postgres"
	if w.database.server != nil && len(w.database.server.Path) > 1 {
		maintenance = w.database.server.Path[1:]
	}
	there := w.database
	there.name = maintenance
	name := pgx.Identifier{w.database.name}.Sanitize()
	if err := stage.Execute(ctx, there.url(), "CREATE DATABASE "+name, "COMMENT ON DATABASE "+name+" IS '"+mark+"'"); err != nil {
		return err
	}
	if w.database.server != nil {
		w.OnStop("database", func(ctx context.Context) error {
			return stage.Execute(ctx, there.url(), "DROP DATABASE "+name+" WITH (FORCE)")
		})
	}
	return nil
}
