package batchread

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// byIndexes has the statement behind it planned by indexes, as those of our
// transactions are: a plan that was made while a table was small is kept, and would
// read it whole when it has grown.
const byIndexes = "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)"

// Sender is a pool, or a connection outside of a transaction.
type Sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// ByIndexes reads the rows of the statement that queue puts into a batch, in one round
// trip and planned by indexes.
func ByIndexes(ctx context.Context, db Sender, queue func(*pgx.Batch) *pgx.QueuedQuery, rows func(pgx.Rows) error) error {
	var batch pgx.Batch // one transaction, since it is answered at once
	batch.Queue(byIndexes)
	queue(&batch).Query(rows)
	return db.SendBatch(ctx, &batch).Close()
}
