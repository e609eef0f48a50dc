package pipeline

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Settings have what follows them in a transaction planned by its indexes. A plan that
// was made while a table had few rows is kept, and would read it whole when it has
// many: each of our statements has an index to go by. A bitmap is the same by another name:
// where Postgres expects few rows it reads all that a part of the key selects and sorts
// them, instead of the first in the order of the index. None of them runs for so long
// that compiling it pays.
const Settings = "set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true)"

// SettingsInOrder have what follows them walk an index in its order as well: from a
// table that nobody analysed all rows would be read and sorted, to give the first few.
const SettingsInOrder = "set_config('enable_sort', 'off', true)"

// Sender is a pool, or a connection outside of a transaction.
type Sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// ByIndex runs statements that look rows up, each in a transaction and a round trip of
// its own. What reads a table whole is better run as it is.
type ByIndex struct {
	Sender

	// InOrder is for statements that read the first rows in the order of an index.
	InOrder bool
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

// send leaves the results at the statement.
func (d ByIndex) send(ctx context.Context, sql string, args []any) pgx.BatchResults {
	var batch pgx.Batch // one transaction, since it is answered at once
	settings := "SELECT " + Settings
	if d.InOrder {
		settings += ", " + SettingsInOrder
	}
	batch.Queue(settings)
	batch.Queue(sql, args...)
	results := d.SendBatch(ctx, &batch)
	_, _ = results.Exec() // the statement has the same error
	return results
}
