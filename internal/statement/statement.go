// Package statement loads the SQL texts of this repository from their files, gives their
// parameters names, and checks once, when the program starts, that program and texts
// agree.
//
// A folder of statements and a struct describe each other. The field NoteSuccess
// is the file note_success.sql, and the type of the field says which arguments
// it takes:
//
//	type statements struct {
//		NoteSuccess statement.Of[success]  // ... WHERE name = :destination
//		Overview    statement.Bound        // takes none
//	}
//
//	err := statement.Load(&sql, files, "query", schema.Default.SQL)
//	...
//	tag, err := sql.NoteSuccess.With(success{Destination: "app", Ago: 2}).Exec(ctx, tx)
//
// Parameters are written :name, as in psql, and stand for the field of that name
// (event_id is EventID). A parameter without a field, a field without a
// parameter, a file without a field and a field without a file keep the program
// from starting. So an argument cannot be forgotten, misspelt, or given twice,
// and two of one type cannot change places unseen, as they can as $1 and $2.
//
// Rows are a slice of structs, whose fields are the columns. Postgres gets an array
// for each of them, which it unnests:
//
//	FROM :ended AS e (scope text, key text, generation integer)
//
// What several statements have in common is a file in the folder fragment, and
// {{name}} where it belongs; what several folders have in common, Load is given.
// A fragment is written for an alias, which the statement may
// call otherwise: {{effect_columns e=a}}. A SQL function would not do: Postgres
// plans one with a sub-select apart from the statement that calls it.
//
// pgx.NamedArgs does less and costs more: it parses the text at each call, and
// a name without an argument is NULL. pgx.StrictStructArgs compares the names,
// but also at each call, so that a mistake in a statement that rarely runs is
// found when it does.
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

// Of is a statement that takes the fields of a struct as its arguments. It is
// safe for concurrent use.
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

// Bound is a statement that can be run.
type Bound struct { //nolint:recvcheck // a value that runs; only Load fills one in
	name   string
	text   string
	values []any
}

// Name is that of its file.
func (b Bound) Name() string { return b.name }

// Exec runs it for its effect.
func (b Bound) Exec(ctx context.Context, db DB) (pgconn.CommandTag, error) {
	return db.Exec(ctx, b.text, b.values...)
}

// Query runs it for its rows.
func (b Bound) Query(ctx context.Context, db DB) (pgx.Rows, error) {
	return db.Query(ctx, b.text, b.values...)
}

// QueryRow runs it for its only row.
func (b Bound) QueryRow(ctx context.Context, db DB) pgx.Row {
	return db.QueryRow(ctx, b.text, b.values...)
}

// Queue puts it into a batch.
func (b Bound) Queue(batch *pgx.Batch) *pgx.QueuedQuery {
	return batch.Queue(b.text, b.values...)
}
