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

// cli is one call of the program: the process it runs in, the flags all commands
// have, and the one of those that use the database.
type cli struct {
	*process

	configPath string
	logLevel   string
	logFormat  string
	database   databaseFlag
	asJSON     bool // what is printed is for machines
}

// connsOfCommand bounds the connections of a command for people.
const connsOfCommand = 4

// stopOfCommand bounds how long a command waits until workers were told of what it
// ordered.
const stopOfCommand = time.Second

func openPool(ctx context.Context, url secret.Value) (*pgxpool.Pool, error) {
	return app.NewPool(ctx, app.PoolOptions{URL: url, MaxConns: connsOfCommand, ApplicationName: "hooklatch-cli"})
}

// withOutbox runs f on the outbox of the database the settings name, if it is
// migrated.
func (c *cli) withOutbox(ctx context.Context, f func(*outbox.Outbox) error) error {
	return c.withDatabase(ctx, func(d database) error { return f(d.outbox) })
}

// database is the one the settings name.
type database struct {
	pool   *pgxpool.Pool
	schema schema.Name
	outbox *outbox.Outbox
	config *config.Config
}

// withDatabase is withOutbox for what stands beside the outbox.
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
		_ = o.Stop(ctx) // what was ordered is committed: workers that were not told find it
	}()
	return f(database{pool: pool, schema: name, outbox: o, config: cfg})
}
