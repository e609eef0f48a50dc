package worker

import (
	"errors"

	"github.com/jackc/pgx/v5"
)

// errAbandonedRows is the error of a copy whose attempt was abandoned.
var errAbandonedRows = errors.New("the attempt was abandoned while it read the rows of a copy")

// fencedRows reads the source of a copy in a separate goroutine. Once the attempt is abandoned,
// fencedRows does not wait for that goroutine.
type fencedRows struct {
	gone  <-chan struct{} // closed when the attempt is abandoned
	asked chan struct{}   // requests one row; closed by end
	read  chan copiedRow  // holds one row, so the reader never waits for a copy that has ended
	row   copiedRow       // current row
}

var _ pgx.CopyFromSource = (*fencedRows)(nil)

// copiedRow contains the results of one call of Next, and of the calls of Values and Err that
// follow it.
type copiedRow struct {
	more      bool
	values    []any
	valuesErr error
	err       error
}

func newFencedRows(rows pgx.CopyFromSource, gone <-chan struct{}) *fencedRows {
	r := &fencedRows{gone: gone, asked: make(chan struct{}), read: make(chan copiedRow, 1)}
	go func() {
		for range r.asked {
			r.read <- readRow(rows)
		}
	}()
	return r
}

// readRow reads one row. A panic of the source becomes the row's error.
func readRow(rows pgx.CopyFromSource) (row copiedRow) {
	defer func() {
		if v := recover(); v != nil {
			row = copiedRow{err: newPanicError(v)}
		}
	}()
	if row.more = rows.Next(); row.more {
		row.values, row.valuesErr = rows.Values()
	}
	row.err = rows.Err()
	return row
}

// end stops the goroutine after its current row. No method may be called after end.
func (r *fencedRows) end() { close(r.asked) }

// Next implements pgx.CopyFromSource.
func (r *fencedRows) Next() bool {
	select {
	case r.asked <- struct{}{}:
	case <-r.gone:
		r.row = copiedRow{err: errAbandonedRows}
		return false
	}
	select {
	case r.row = <-r.read:
	case <-r.gone:
		r.row = copiedRow{err: errAbandonedRows}
	}
	return r.row.more
}

// Values implements pgx.CopyFromSource.
func (r *fencedRows) Values() ([]any, error) { return r.row.values, r.row.valuesErr }

// Err implements pgx.CopyFromSource.
func (r *fencedRows) Err() error { return r.row.err }
