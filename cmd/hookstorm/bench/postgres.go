package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/contender"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

// settings returns the settings of every server of a bench. They suit a small production machine.
// startPostgres also turns fsync on, so that a commit survives a power loss. The other settings are
// Postgres' defaults.
func settings() map[string]string {
	return map[string]string{
		"shared_buffers":     "1GB",
		"max_wal_size":       "4GB",
		"checkpoint_timeout": "15min",
		"max_connections":    "300",
		"wal_keep_size":      "0",
	}
}

// printed lists the settings in a report, as the server reports them.
var printed = []string{
	"fsync", "synchronous_commit", "full_page_writes", "wal_compression", "shared_buffers", "max_wal_size", "checkpoint_timeout", "autovacuum", "jit",
}

// schemaKind selects the preparation of a database.
type schemaKind string

const (
	schemaNone            schemaKind = "none" // a program creates the schema
	schemaHooklatch       schemaKind = "hooklatch"
	schemaNaive           schemaKind = "naive"
	schemaNaiveWithoutGIN schemaKind = "naive_without_gin"
)

// postgres is a Postgres server of the bench. Each of its databases is a copy of a prepared one.
type postgres struct {
	cluster    *cluster.Cluster
	conn       *pgx.Conn // for observation; the costs of this connection are not counted
	backend    int       // process id of conn's backend
	postmaster int
	made       int
}

// original is the name of the prepared database, which scenes copy.
const original = "prepared"

// startPostgres starts a server and prepares it.
func startPostgres(ctx context.Context, kind schemaKind, change cluster.Options) (_ *postgres, err error) {
	change.Durable = true
	all := settings()
	maps.Copy(all, change.Settings)
	change.Settings = all
	started, err := cluster.Start(ctx, change)
	if err != nil {
		return nil, err
	}
	p := &postgres{cluster: started}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop(context.WithoutCancel(ctx)))
		}
	}()
	if p.conn, err = pgx.Connect(ctx, started.Primary("postgres")); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	p.backend = int(p.conn.PgConn().PID())
	p.postmaster = meter.Parent(p.backend)
	if _, err := p.conn.Exec(ctx, "CREATE DATABASE "+original); err != nil {
		return nil, fmt.Errorf("make a database: %w", err)
	}
	if kind != schemaNone {
		err = p.prepare(ctx, kind)
	}
	return p, err
}

func (p *postgres) prepare(ctx context.Context, kind schemaKind) error {
	pool, err := pgxpool.New(ctx, p.cluster.Primary(original))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()
	if kind != schemaHooklatch {
		return contender.Prepare(ctx, pool, kind == schemaNaiveWithoutGIN)
	}
	return stage.Migrate(ctx, pool)
}

// stop shuts down the server and removes its data.
func (p *postgres) stop(ctx context.Context) error {
	if p.conn != nil {
		_ = p.conn.Close(ctx) // conn is idle
	}
	return p.cluster.Stop(ctx)
}

// copy copies a database and runs a checkpoint, so that all rounds begin in the same state. It
// returns the name of the copy.
func (p *postgres) copy(ctx context.Context, of string) (string, error) {
	p.made++
	name := fmt.Sprintf("round_%d", p.made)
	if _, err := p.conn.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+of); err != nil {
		return "", fmt.Errorf("copy the database %s: %w", of, err)
	}
	return name, p.checkpoint(ctx)
}

// checkpoint runs a checkpoint. The next change to each page then writes a full image of the page
// to the WAL. The server also removes old WAL.
func (p *postgres) checkpoint(ctx context.Context) error {
	if _, err := p.conn.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("make a checkpoint: %w", err)
	}
	return nil
}

// drop drops a database, and runs a checkpoint, which removes old WAL.
func (p *postgres) drop(ctx context.Context, name string) error {
	if _, err := p.conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop the database %s: %w", name, err)
	}
	return p.checkpoint(ctx)
}

// say returns the server's version, and the settings that printed lists.
func (p *postgres) say(ctx context.Context) (version string, said []report.Setting, err error) {
	for _, name := range append([]string{"server_version"}, printed...) {
		var value string
		if err := p.conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return "", nil, fmt.Errorf("read the setting %s: %w", name, err)
		}
		if name == "server_version" {
			version = value
			continue
		}
		said = append(said, report.Setting{Name: name, Value: value})
	}
	return version, said, nil
}
