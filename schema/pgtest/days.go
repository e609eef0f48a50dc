package pgtest

import (
	"context"
	_ "embed"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed past_days.sql
var pastDaysSQL string

// PastDays creates the missing partitions of the last n UTC days before today, so that a test can
// make rows older. Every database with our schema already has yesterday's partitions.
func PastDays(t testing.TB, pool *pgxpool.Pool, n int) {
	t.Helper()
	if err := pastDays(t.Context(), pool, n); err != nil {
		t.Fatalf("pgtest: create the partitions of the last %d days: %v", n, err)
	}
}

func pastDays(ctx context.Context, pool *pgxpool.Pool, n int) error {
	return runResult(ctx, pool, pastDaysSQL, n)
}

// runResult runs the statements that a query returns, in one transaction.
func runResult(ctx context.Context, pool *pgxpool.Pool, query string, args ...any) error {
	rows, err := pool.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, strings.Join(statements, ";\n"))
	return err
}

// leaveToYesterday gives a database the partitions that it would have if it had been migrated
// yesterday: one more day in the past, and one less in the future. Otherwise a test could rely on a
// database that was migrated on the day of the test, and would fail around midnight UTC.
func leaveToYesterday(ctx context.Context, pool *pgxpool.Pool) error {
	if err := pastDays(ctx, pool, 1); err != nil {
		return err
	}
	return runResult(ctx, pool, `
		SELECT format('DROP TABLE %s', inhrelid::regclass)
		FROM pg_inherits
		JOIN pg_class AS c ON c.oid = inhrelid
		WHERE right(relname, 8) = to_char(now() AT TIME ZONE 'UTC' + hooklatch.delivery_days_ahead() * interval '1 day', 'YYYYMMDD')`)
}
