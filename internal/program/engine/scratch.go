package engine

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/schema"
)

// marked is the comment of a schema that Check created. query/leftovers.sql contains it, too.
const marked = "temporary: hooklatch check --engine drops it"

// dropTimeout is the maximum time for dropping the schema.
const dropTimeout = 30 * time.Second

//go:embed query/leftovers.sql
var leftovers string

// create creates the schema of a check, and drops the schemas of killed checks.
func create(ctx context.Context, pool *pgxpool.Pool) (schema.Name, error) {
	rows, _ := pool.Query(ctx, leftovers) // CollectRows returns the error
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if _, answered := sqlstate.Of(err); err != nil && !answered { // errors of the server are ignored: an unusual server may lack the catalog
		return "", fmt.Errorf("look for schemas of earlier checks: %w", err)
	}
	for _, name := range left {
		if err := drop(ctx, pool, schema.Name(name)); err != nil {
			return "", err
		}
	}
	var now time.Time
	if err := pool.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return "", fmt.Errorf("ask for the time: %w", err)
	}
	name := fmt.Sprintf("hooklatch_engine_%s_%s", now.UTC().Format("20060102150405"), strings.ToLower(rand.Text()[:6]))
	// Both statements are sent at once, so that no schema is left without its mark.
	_, err = pool.Exec(ctx, fmt.Sprintf("CREATE SCHEMA %s; COMMENT ON SCHEMA %[1]s IS '%s'", name, marked), pgx.QueryExecModeSimpleProtocol)
	switch {
	case sqlstate.Is(err, sqlstate.InsufficientPrivilege):
		at := pool.Config().ConnConfig
		return "", fmt.Errorf("the role %q may not create a schema in database %q: run GRANT CREATE ON DATABASE, or use an empty database that the role owns: %w", at.User, at.Database, err)
	case sqlstate.Demoted(err):
		return "", fmt.Errorf("the server accepts no writes: use the address of the primary, and a role without default_transaction_read_only: %w", err)
	case err != nil:
		return "", fmt.Errorf("create a schema for the check: %w", err)
	}
	return schema.Name(name), nil
}

// drop drops the schema, even if ctx is done.
func drop(ctx context.Context, pool *pgxpool.Pool, name schema.Name) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	if _, err := pool.Exec(ctx, fmt.Sprintf("DROP SCHEMA IF EXISTS %s CASCADE", name)); err != nil {
		return fmt.Errorf("the schema %s of a check is left: run the check again after ten minutes, or DROP SCHEMA %[1]s CASCADE: %w", name, err)
	}
	return nil
}
