package worker

import (
	"context"
	"net"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// fencedTx is a transaction for a statement that may be abandoned. The sender's goroutine calls its
// methods. After abandon has returned, no method of the transaction or of its savepoints runs, so
// only the rollback uses the transaction. The results of Query, QueryRow, SendBatch, LargeObjects
// and Conn are not fenced: their methods may run code of the sender, which may never return.
type fencedTx struct {
	*fence

	tx pgx.Tx
}

// fence is shared by a transaction and its savepoints.
type fence struct {
	wire net.Conn
	gone chan struct{} // closed by abandon

	mu        sync.Mutex // held while the sender uses the transaction
	abandoned bool
}

var _ pgx.Tx = (*fencedTx)(nil)

func newFencedTx(tx pgx.Tx) *fencedTx {
	return &fencedTx{tx: tx, fence: &fence{wire: tx.Conn().PgConn().Conn(), gone: make(chan struct{})}}
}

// abandon closes the connection, which ends any wait of the sender, and blocks further use by the
// sender. The rollback finds the connection closed. abandon may be called only once.
func (f *fence) abandon() {
	close(f.gone)
	_ = f.wire.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.abandoned = true
}

// enter begins a use of the transaction, which ends when the caller unlocks mu.
func (f *fencedTx) enter() pgx.Tx {
	f.mu.Lock()
	if f.abandoned { // this panic ends the sender's goroutine; the caller unlocks
		panic("the transaction was used after its attempt was abandoned")
	}
	return f.tx
}

// Begin implements pgx.Tx.
func (f *fencedTx) Begin(ctx context.Context) (pgx.Tx, error) {
	defer f.mu.Unlock()
	tx, err := f.enter().Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &fencedTx{tx: tx, fence: f.fence}, nil
}

// Commit implements pgx.Tx.
func (f *fencedTx) Commit(ctx context.Context) error {
	defer f.mu.Unlock()
	return f.enter().Commit(ctx)
}

// Rollback implements pgx.Tx.
func (f *fencedTx) Rollback(ctx context.Context) error {
	defer f.mu.Unlock()
	return f.enter().Rollback(ctx)
}

// CopyFrom implements pgx.Tx. It does not wait for the source of an abandoned copy, because that
// source may never return.
func (f *fencedTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	defer f.mu.Unlock()
	tx := f.enter()
	source := newFencedRows(rows, f.gone)
	defer source.end()
	return tx.CopyFrom(ctx, table, columns, source)
}

// SendBatch implements pgx.Tx.
func (f *fencedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	defer f.mu.Unlock()
	return f.enter().SendBatch(ctx, b)
}

// LargeObjects implements pgx.Tx.
func (f *fencedTx) LargeObjects() pgx.LargeObjects {
	defer f.mu.Unlock()
	return f.enter().LargeObjects()
}

// Prepare implements pgx.Tx.
func (f *fencedTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	defer f.mu.Unlock()
	return f.enter().Prepare(ctx, name, sql)
}

// Exec implements pgx.Tx.
func (f *fencedTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	defer f.mu.Unlock()
	return f.enter().Exec(ctx, sql, args...)
}

// Query implements pgx.Tx.
func (f *fencedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	defer f.mu.Unlock()
	return f.enter().Query(ctx, sql, args...)
}

// QueryRow implements pgx.Tx.
func (f *fencedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	defer f.mu.Unlock()
	return f.enter().QueryRow(ctx, sql, args...)
}

// Conn implements pgx.Tx.
func (f *fencedTx) Conn() *pgx.Conn {
	defer f.mu.Unlock()
	return f.enter().Conn()
}
