package pgtest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Open returns a pool on a fresh database with our schema, and a function that closes the pool
// and removes the database. It does the same as New for callers without a testing.TB, and
// accepts the options Empty, Prepared and MaxConns.
func Open(ctx context.Context, opts ...Option) (pool *pgxpool.Pool, done func() error, err error) {
	o := options{maxConns: defaultMaxConns}
	for _, opt := range opts {
		opt(&o)
	}
	host, err := sharedHost(ctx, false)
	if err != nil {
		return nil, nil, fmt.Errorf("pgtest: %w", err)
	}
	name := databaseName("open")
	template, err := host.templateFor(ctx, o)
	if err != nil {
		return nil, nil, fmt.Errorf("pgtest: %w", err)
	}
	if err := host.clone(ctx, name, template); err != nil {
		return nil, nil, fmt.Errorf("pgtest: %w", err)
	}
	config, err := pgxpool.ParseConfig(host.url(name))
	if err != nil {
		return nil, nil, fmt.Errorf("pgtest: %w", err)
	}
	config.MaxConns = o.maxConns
	pool, err = pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, fmt.Errorf("pgtest: %w", err)
	}
	return pool, func() error {
		pool.Close()
		if err := host.drop(context.WithoutCancel(ctx), name); err != nil {
			return fmt.Errorf("pgtest: drop database %s: %w", name, err)
		}
		return nil
	}, nil
}

// Example does the same as Open, for Example functions. An Example function cannot report an error,
// so Example and the returned function panic instead.
func Example(ctx context.Context) (pool *pgxpool.Pool, done func()) {
	pool, closeAndDrop, err := Open(ctx)
	if err != nil {
		panic(err)
	}
	return pool, func() {
		if err := closeAndDrop(); err != nil {
			panic(err)
		}
	}
}
