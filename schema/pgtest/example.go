package pgtest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Example returns a pool on a fresh database with our schema in it, and what
// closes the one and removes the other. It is New for an Example, which has no
// testing.TB to fail: it panics instead.
func Example(ctx context.Context) (pool *pgxpool.Pool, done func()) {
	host, err := sharedHost(ctx, false)
	if err != nil {
		panic(fmt.Errorf("pgtest: %w", err))
	}
	name := databaseName("example")
	if err := host.clone(ctx, name, false); err != nil {
		panic(fmt.Errorf("pgtest: %w", err))
	}
	pool, err = pgxpool.New(ctx, host.url(name))
	if err != nil {
		panic(fmt.Errorf("pgtest: %w", err))
	}
	return pool, func() {
		pool.Close()
		if err := host.drop(ctx, name); err != nil {
			panic(fmt.Errorf("pgtest: drop database %s: %w", name, err))
		}
	}
}
