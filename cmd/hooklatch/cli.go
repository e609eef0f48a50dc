package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
)

// cli is one call of the program: its process, the flags of all commands, and the flag of
// commands that use the database.
type cli struct {
	*process

	configPath string
	logLevel   string
	logFormat  string
	database   databaseFlag
	asJSON     bool // --json
}

// connsOfCommand bounds the connections of a command.
const connsOfCommand = 4

// stopOfCommand bounds how long a command waits until workers are notified of its changes.
const stopOfCommand = time.Second

func openPool(ctx context.Context, url secret.Value) (*pgxpool.Pool, error) {
	return app.NewPool(ctx, app.PoolOptions{URL: url, MaxConns: connsOfCommand, ApplicationName: "hooklatch-cli"})
}

// withOutbox runs f on the outbox of the database that the settings name. The database must
// be migrated.
func (c *cli) withOutbox(ctx context.Context, f func(*outbox.Outbox) error) error {
	return c.withDatabase(ctx, func(d database) error { return f(d.outbox) })
}

// database is the database that the settings name.
type database struct {
	pool   *pgxpool.Pool
	schema schema.Name
	outbox *outbox.Outbox
	config *config.Config
}

// withDatabase is like withOutbox, for commands that need more than the outbox.
func (c *cli) withDatabase(ctx context.Context, f func(database) error) error {
	cfg, err := c.loadForDatabase()
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, c.databaseOf(cfg))
	if err != nil {
		return err
	}
	defer pool.Close()
	name := schema.Name(cfg.Database.Schema)
	migrator, err := schema.NewMigrator(pool, name, nil)
	if err != nil {
		return err
	}
	if err := migrator.Validate(ctx); err != nil {
		return err
	}
	o, err := outbox.New(outbox.Options{Pool: pool, Schema: name})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopOfCommand)
		defer cancel()
		_ = o.Stop(ctx) // the changes are committed: workers that are not notified find them
	}()
	return f(database{pool: pool, schema: name, outbox: o, config: cfg})
}
