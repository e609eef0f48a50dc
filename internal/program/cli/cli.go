package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
)

// cli is one run of the program: its process, and the flags that several commands share.
type cli struct {
	*Process

	configPath string
	logLevel   string
	logFormat  string
	database   databaseFlag
	asJSON     bool   // --json
	within     string // " in the cell NAME" if the command works on one of several cells
}

// connsOfCommand is the maximum number of a command's connections.
const connsOfCommand = 4

// stopOfCommand is the maximum time that a command waits until workers are notified of its changes.
const stopOfCommand = time.Second

// askForDatabase is the maximum time in which a command finds out to which database DATABASE_URL
// leads.
const askForDatabase = 3 * time.Second

func openPool(ctx context.Context, url secret.Value) (*pgxpool.Pool, error) {
	return app.NewPool(ctx, app.PoolOptions{URL: url, MaxConns: connsOfCommand, ApplicationName: "hooklatch-cli"})
}

// openDatabase opens the database of a configuration. If DATABASE_URL equals database.url, the
// command still uses direct_url. In that case url and direct_url must lead to one database, or
// openDatabase returns an error: a command that was meant for one database must not change another.
func (c *cli) openDatabase(ctx context.Context, cfg *config.Config) (*pgxpool.Pool, error) {
	pool, err := openPool(ctx, c.databaseOf(cfg))
	if err != nil {
		return nil, err
	}
	if c.givenDatabase().IsZero() || cfg.Database.DirectURL.IsZero() || !c.overridingDatabase(cfg).IsZero() {
		return pool, nil
	}
	given, err := app.NewPool(ctx, app.PoolOptions{URL: cfg.Database.URL, MaxConns: 1, ApplicationName: "hooklatch-cli", Pooled: true})
	if err != nil {
		pool.Close()
		return nil, err
	}
	defer given.Close()
	ctx, cancel := context.WithTimeout(ctx, askForDatabase)
	defer cancel()
	if elsewhere, is := errors.AsType[*doctor.ElsewhereError](doctor.SameDatabase(ctx, given, pool, schema.Name(cfg.Database.Schema))); is {
		pool.Close()
		return nil, fmt.Errorf("DATABASE_URL and database.direct_url lead to different databases: %w; correct direct_url, or give --database-url, which overrides both", elsewhere)
	}
	return pool, nil // the command does not use database.url, which may be unreachable
}

// withOutbox runs f on the outbox of the configured database, which must be migrated.
func (c *cli) withOutbox(ctx context.Context, f func(*outbox.Outbox) error) error {
	return c.withDatabase(ctx, func(d database) error { return f(d.outbox) })
}

// database is the database that a command uses.
type database struct {
	pool   *pgxpool.Pool
	schema schema.Name
	outbox *outbox.Outbox
	config *config.Config
}

// showOutbox is like withOutbox, for commands that only show what is stored.
func (c *cli) showOutbox(ctx context.Context, f func(*outbox.Outbox) error) error {
	return c.showDatabase(ctx, func(d database) error { return f(d.outbox) })
}

// withDatabase is like withOutbox, for commands that need more than the outbox.
func (c *cli) withDatabase(ctx context.Context, f func(database) error) error {
	cfg, err := c.loadForDatabase()
	if err != nil {
		return err
	}
	if len(cfg.Whole().Cells) > 0 {
		c.within = " in the cell " + cfg.Cell()
	}
	pool, err := c.openDatabase(ctx, cfg)
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
	o, err := outbox.New(outbox.Options{Pool: pool, Schema: name, Export: app.ExportOf(cfg)})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopOfCommand)
		defer cancel()
		_ = o.Stop(ctx) // the changes are committed: workers find them even without a notification
	}()
	return f(database{pool: pool, schema: name, outbox: o, config: cfg})
}
