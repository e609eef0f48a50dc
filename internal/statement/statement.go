// Package statement loads the SQL texts of this repository from their files, names their
// parameters, and checks once, when the program starts, that program and texts agree.
//
// A folder of statements and a struct correspond to each other. The field NoteSuccess belongs to
// the file note_success.sql, and the field's type declares the statement's arguments:
//
//	type statements struct {
//		NoteSuccess statement.Of[success]  // ... WHERE name = :destination
//		Overview    statement.Bound        // takes no arguments
//	}
//
//	err := statement.Load(&sql, files, "query", schema.Default.SQL)
//	...
//	tag, err := sql.NoteSuccess.With(success{Destination: "app", Ago: 2}).Exec(ctx, tx)
//
// Parameters are written :name, as in psql, and take the value of the field of that name
// (event_id is EventID). The program does not start if a parameter has no field, a field
// has no parameter, a file has no field, or a field has no file. So an argument cannot be
// forgotten, misspelled or given twice, and two arguments of one type cannot be swapped
// unnoticed, as $1 and $2 can.
//
// Rows are a slice of structs, whose fields are the columns. Postgres receives one array for each
// column and unnests the arrays:
//
//	FROM :ended AS e (scope text, key text, generation integer)
//
// Text that several statements share is a file in the folder fragment, inserted by {{name}}.
// Fragments that several folders share are passed to Load. A fragment is written for an alias,
// which the statement may rename: {{effect_columns e=a}}. A SQL function is no replacement:
// Postgres plans a function that contains a sub-select separately from the statement that calls it.
//
// pgx.NamedArgs does less and costs more: it parses the text at each call, and a name
// without an argument is NULL. pgx.StrictStructArgs compares the names, but also at each
// call, so a mistake in a rarely used statement is found only when it runs.
package statement

import (
	"context"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB runs statements: a pgx.Tx, a connection or a pool.
type DB interface {
	Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, text string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, text string, args ...any) pgx.Row
}

// Of is a statement that takes a struct's fields as its arguments. It is safe for concurrent
// use.
type Of[Args any] struct {
	name string
	text string
	args []argument // for $1, $2, ...
}

// With binds the statement to its arguments.
func (s Of[Args]) With(args Args) Bound {
	from := reflect.ValueOf(&args).Elem()
	values := make([]any, len(s.args))
	for i, arg := range s.args {
		values[i] = arg.value(from)
	}
	return Bound{name: s.name, text: s.text, values: values}
}

// Bound is a statement with its arguments, ready to be run.
type Bound struct { //nolint:recvcheck // the methods only read it; Load fills it through a pointer
	name   string
	text   string
	values []any
}

// Name returns the name of the statement's file, without the extension.
func (b Bound) Name() string { return b.name }

// Exec runs the statement.
func (b Bound) Exec(ctx context.Context, db DB) (pgconn.CommandTag, error) {
	return db.Exec(ctx, b.text, b.values...)
}

// Query runs the statement and returns its rows.
func (b Bound) Query(ctx context.Context, db DB) (pgx.Rows, error) {
	return db.Query(ctx, b.text, b.values...)
}

// QueryRow runs the statement and returns its first row.
func (b Bound) QueryRow(ctx context.Context, db DB) pgx.Row {
	return db.QueryRow(ctx, b.text, b.values...)
}

// Queue adds the statement to a batch.
func (b Bound) Queue(batch *pgx.Batch) *pgx.QueuedQuery {
	return batch.Queue(b.text, b.values...)
}
