package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// PrepareStatements makes Postgres check the statements of all sql destinations without running
// them. It returns warnings about refused statements, and the number of checked statements.
func PrepareStatements(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) (wrong []Warning, checked int, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("prepare statements: %w", err)
	}
	defer conn.Release()
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		sql := cfg.Destinations[name].SQL
		if sql == nil {
			continue
		}
		o := *sql
		o.Name = name
		sender, err := destination.NewSQL(o)
		if err != nil {
			continue // the configuration check reports the problem
		}
		refused, err := sender.Prepare(ctx, conn.Conn())
		if err != nil {
			return nil, 0, fmt.Errorf("prepare statements of destination %q: %w", name, err)
		}
		checked += len(sql.Statements)
		for _, one := range refused {
			path := "destinations." + name + ".sql.statements." + one.Statement
			wrong = append(wrong, Warning{
				"statements", cfg.Problem(path, "was rejected by Postgres: "+errors.Unwrap(one).Error()).Error(),
				"create the objects that the statement names, or correct the statement; until then its effects fail",
			})
		}
	}
	return wrong, checked, nil
}
