package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/schema"
)

// Postgres starts servers that stop with the stage.
func (s *Stage) Postgres(ctx context.Context, o cluster.Options) (*cluster.Cluster, error) {
	started, err := cluster.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	s.OnStop("Postgres", started.Stop)
	return started, nil
}

// Connect creates a pool that closes with the stage.
func (s *Stage) Connect(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	s.OnStop("connections", func(context.Context) error { pool.Close(); return nil })
	return pool, nil
}

// Migrate creates Hooklatch's tables in an empty database.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := schema.NewMigrator(pool, schema.Default, nil)
	if err != nil {
		return err
	}
	_, err = migrator.Up(ctx)
	return err
}

// Prepare creates Hooklatch's tables and the run's tables in an empty database.
func Prepare(ctx context.Context, pool *pgxpool.Pool) error {
	if err := Migrate(ctx, pool); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, scenario.Tables); err != nil {
		return fmt.Errorf("make the tables of the run: %w", err)
	}
	return nil
}

// Execute runs statements on a separate connection.
func Execute(ctx context.Context, url string, statements ...string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to the server: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the connection is not used again
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Config parses the URL of a database.
func Config(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the URL of the database cannot be read") // the error would quote the URL
	}
	return config, nil
}
