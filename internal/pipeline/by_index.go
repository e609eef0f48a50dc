package pipeline

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Settings make Postgres plan a transaction's following statements with index scans. Postgres keeps
// a plan that it made while a table had few rows, and would later read the complete large table.
// Every Hooklatch statement has a suitable index. Bitmap scans have the same problem: if Postgres
// expects few rows, it reads and sorts all rows that a part of the key selects. An index scan reads
// only the first rows in index order. No statement runs long enough for JIT compilation to pay off.
const Settings = "set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true)"

// SettingsOnce also make Postgres plan each following statement once per connection, whatever its
// arguments. By default, Postgres plans many statements for the arguments of each execution, which
// takes longer than the execution if a table has partitions for many days. Statements with optional
// conditions are better planned for their arguments: the plan then leaves the other conditions out, and
// with them the tables that a role may lack the right to read.
const SettingsOnce = "set_config('plan_cache_mode', 'force_generic_plan', true)"

// SettingsInOrder also make the following statements read an index in its order. On a table
// that was never analyzed, Postgres would otherwise read and sort all rows to return the first
// few.
const SettingsInOrder = "set_config('enable_sort', 'off', true)"

// Sender is a pool, a connection outside a transaction, or a transaction. In a transaction, the
// settings also apply to later statements.
type Sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// ByIndex runs statements that look up rows, each in its own round trip and, unless Sender is a
// transaction, in its own transaction. Statements that read a complete table are better run
// directly.
type ByIndex struct {
	Sender

	// InOrder is for statements that read the first rows in index order.
	InOrder bool
	// Once is for statements that run often: see SettingsOnce.
	Once bool
}

// Exec implements statement.DB.
func (d ByIndex) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return Exec(d.send(ctx, sql, args))
}

// Query implements statement.DB.
func (d ByIndex) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return Query(d.send(ctx, sql, args))
}

// QueryRow implements statement.DB.
func (d ByIndex) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return Row(d.Query(ctx, sql, args...))
}

// send sends the settings and the statement, and returns the results, positioned at the results of
// the statement.
func (d ByIndex) send(ctx context.Context, sql string, args []any) pgx.BatchResults {
	var batch pgx.Batch // one transaction, since it is sent as one batch
	settings := "SELECT " + Settings
	if d.InOrder {
		settings += ", " + SettingsInOrder
	}
	if d.Once {
		settings += ", " + SettingsOnce
	}
	batch.Queue(settings)
	batch.Queue(sql, args...)
	results := d.SendBatch(ctx, &batch)
	_, _ = results.Exec() // the statement returns the same error
	return results
}
