// Package pipeline sends a statement together with the settings that must precede it, in
// one round trip.
package pipeline

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Exec returns the result of the next statement in results, which must be the last, and closes
// results.
func Exec(results pgx.BatchResults) (pgconn.CommandTag, error) {
	tag, err := results.Exec()
	if closed := results.Close(); err == nil {
		err = closed
	}
	return tag, err
}

// Query returns the rows from the next statement in results, which must be the last. The
// connection is free once the rows are closed.
func Query(results pgx.BatchResults) (pgx.Rows, error) {
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // Close returns the same error
		return rows, err
	}
	return &lastRows{Rows: rows, results: results}, nil
}

// Row returns Query's result as a pgx.Row, which reads the first row.
func Row(rows pgx.Rows, err error) pgx.Row { return onlyRow{rows: rows, err: err} }

// lastRows closes its results when the rows are closed.
type lastRows struct {
	pgx.Rows

	results pgx.BatchResults
	ended   error // error from closing results
}

// Next implements pgx.Rows.
func (r *lastRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Close implements pgx.Rows.
func (r *lastRows) Close() {
	r.Rows.Close()
	r.ended = r.results.Close()
}

// Err implements pgx.Rows.
func (r *lastRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.ended
}

type onlyRow struct {
	rows pgx.Rows
	err  error
}

// Scan implements pgx.Row.
func (r onlyRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
