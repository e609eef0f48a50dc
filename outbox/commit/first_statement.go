package commit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/pipeline"
)

const (
	// noteKnown is a key in pgconn.PgConn.CustomData. Its value is a map[string]struct{} of the
	// statements with which transactions have begun and succeeded on this connection.
	noteKnown = "hooklatch.known"
	// maxKnown limits the number of noted statements. Hooklatch has fewer statements.
	maxKnown = 256
)

// transaction is a pgx.Tx that begins with its first statement. If the connection has already
// prepared this statement, the transaction sends BEGIN, the settings and the statement together,
// which saves a round trip. The server processes them in order, so the settings apply to the
// statement.
type transaction struct {
	pgx.Tx // nil before the transaction has begun

	conn     *pgx.Conn
	settings txSettings
	first    string // statement of the Exec or Query that began the transaction; otherwise empty

	committed []func()
}

// AfterCommit registers f, which is called after the transaction was committed, or may have been
// committed. f must not block.
func (t *transaction) AfterCommit(f func()) { t.committed = append(t.committed, f) }

// begin sends BEGIN and the settings without a statement, unless the transaction has already begun.
func (t *transaction) begin(ctx context.Context) error {
	if t.Tx != nil {
		return nil
	}
	tx, err := t.conn.BeginTx(ctx, t.settings.options())
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	t.Tx = tx
	return nil
}

// beginWith sends BEGIN together with the first statement, and returns the statement's results. It
// returns nil if it has not sent the statement: the transaction had already begun, or BEGIN had to
// be sent alone. If sending BEGIN alone fails, the results contain its error.
func (t *transaction) beginWith(ctx context.Context, sql string, args []any) pgx.BatchResults {
	if t.Tx != nil {
		return nil
	}
	t.first = sql
	var batch pgx.Batch
	known, _ := t.conn.PgConn().CustomData()[noteKnown].(map[string]struct{})
	if _, prepared := known[sql]; !prepared || failpoint.Enabled {
		// pgx would prepare the statement before BEGIN, where no lock_timeout applies. Failpoints need a
		// position between BEGIN and the statement.
		if err := t.begin(ctx); err != nil {
			return pgx.FailedBatchResults(&batch, err)
		}
		return nil
	}
	batch.BeginTx(pgx.TxOptions{BeginQuery: beginQuery})
	batch.Queue(t.settings.query())
	batch.Queue(sql, args...)
	results := t.conn.SendBatch(ctx, &batch)
	t.Tx = results.Tx()
	for range batch.Len() - 1 {
		if _, err := results.Exec(); err != nil {
			break // reading the statement's result returns the same error
		}
	}
	return results
}

// learn records that the first statement is prepared. After a failure it removes that record,
// because pgx forgets failed statements.
func (t *transaction) learn(succeeded bool) {
	if t.first == "" {
		return
	}
	notes := t.conn.PgConn().CustomData()
	known, _ := notes[noteKnown].(map[string]struct{})
	switch {
	case !succeeded:
		delete(known, t.first)
	case known == nil || len(known) >= maxKnown:
		notes[noteKnown] = map[string]struct{}{t.first: {}}
	default:
		known[t.first] = struct{}{}
	}
}

// Exec implements pgx.Tx.
func (t *transaction) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	results := t.beginWith(ctx, sql, args)
	if results == nil {
		return t.Tx.Exec(ctx, sql, args...)
	}
	return pipeline.Exec(results)
}

// Query implements pgx.Tx.
func (t *transaction) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	results := t.beginWith(ctx, sql, args)
	if results == nil {
		return t.Tx.Query(ctx, sql, args...)
	}
	return pipeline.Query(results)
}

// QueryRow implements pgx.Tx.
func (t *transaction) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return pipeline.Row(t.Query(ctx, sql, args...))
}

// Begin implements pgx.Tx.
func (t *transaction) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	return t.Tx.Begin(ctx)
}

// Rollback implements pgx.Tx.
func (t *transaction) Rollback(ctx context.Context) error {
	if t.Tx == nil {
		return nil
	}
	return t.Tx.Rollback(ctx)
}

// CopyFrom implements pgx.Tx.
func (t *transaction) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if err := t.begin(ctx); err != nil {
		return 0, err
	}
	return t.Tx.CopyFrom(ctx, table, columns, rows)
}

// SendBatch implements pgx.Tx.
func (t *transaction) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if err := t.begin(ctx); err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return t.Tx.SendBatch(ctx, b)
}

// Prepare implements pgx.Tx.
func (t *transaction) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	return t.Tx.Prepare(ctx, name, sql)
}

// LargeObjects implements pgx.Tx. The transaction must have begun.
func (t *transaction) LargeObjects() pgx.LargeObjects { return t.Tx.LargeObjects() }

// Conn implements pgx.Tx.
func (t *transaction) Conn() *pgx.Conn { return t.conn }
