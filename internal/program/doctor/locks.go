package doctor

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckLocks is the name of the check for a server whose locks do not work.
const CheckLocks = "locks"

// Locks checks that a transaction's advisory lock excludes another session: some servers that speak
// Postgres's protocol accept the statement and lock nothing. Ordered effects could then overtake
// each other, and several workers could run the same periodic job at once. Locks uses two
// connections of the pool, and checks nothing if the pool has only one.
func Locks(ctx context.Context, pool *pgxpool.Pool) (Finding, error) {
	if pool.Config().MaxConns < 2 {
		return Finding{Level: OK, Check: CheckLocks, Message: "advisory locks were not checked: the pool has one connection"}, nil
	}
	key := rand.Int64() //nolint:gosec // the key only needs to differ from the keys of other processes
	first, err := pool.Begin(ctx)
	if err != nil {
		return Finding{}, fmt.Errorf("reach the database: %w", err)
	}
	defer first.Rollback(context.WithoutCancel(ctx)) // the transaction changes nothing
	second, err := pool.Begin(ctx)
	if err != nil {
		return Finding{}, fmt.Errorf("reach the database: %w", err)
	}
	defer second.Rollback(context.WithoutCancel(ctx)) // the transaction changes nothing
	var locked [2]bool
	for i, tx := range []pgx.Tx{first, second} {
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", pgx.QueryExecModeExec, key).Scan(&locked[i]); err != nil {
			return Finding{}, fmt.Errorf("take an advisory lock: %w", err)
		}
	}
	if locked != [2]bool{true, false} {
		return Finding{
			Level: Problem, Check: CheckLocks, Fix: "use PostgreSQL 15 or newer, or a server whose advisory locks work",
			Message: "the server's advisory locks do not work: two sessions held the same lock, so ordered effects would overtake each other",
		}, nil
	}
	return Finding{Level: OK, Check: CheckLocks, Message: "an advisory lock excludes other sessions"}, nil
}
