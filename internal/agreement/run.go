package agreement

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

// Found is the result of a check.
type Found struct {
	// Count is the number of rows. If there are more than MaxCount, it is MaxCount and More is
	// true.
	Count int
	More  bool
	// Rows contains the first MaxShown rows.
	Rows []Row
}

// Row is one row that the query returned. It reports one problem.
type Row []Column

// Column is one column of a row. Its value is text, cut to the first 200 characters.
type Column struct {
	Name  string
	Value *string // nil: NULL
}

// RefusedError is returned if Postgres refused or cancelled the query, or if the query returns no
// columns. The check is wrong, not the connection. The error's text may quote row values.
type RefusedError struct {
	Code    string // SQLSTATE; empty for a query that returns no columns
	Message string
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Message }

// Run executes one check. It changes nothing, whatever the query says. The query runs on its own
// connection, in a read-only transaction that is rolled back. Session state, which outlives a
// transaction, ends with the connection. Run embeds the text in a larger query, so the text can
// only be a single query.
func Run(ctx context.Context, pool *pgxpool.Pool, c Check) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout+answerSlack)
	defer cancel()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return Found{}, fmt.Errorf("run check %q: %w", c.Name, err)
	}
	defer conn.Release()
	defer func() { _ = conn.Conn().Close(context.WithoutCancel(ctx)) }() // also ends state that outlives the rollback, such as session locks
	found, err := run(ctx, conn.Conn(), c.query(), Timeout)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		err = &RefusedError{Code: refused.Code, Message: messageOf(refused)}
	}
	if err != nil {
		return Found{}, fmt.Errorf("run check %q: %w", c.Name, err)
	}
	return found, nil
}

func run(ctx context.Context, conn *pgx.Conn, query string, timeout time.Duration) (Found, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return Found{}, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // the query changed nothing, so an error does not matter
	// After its first query, a read-only transaction cannot become writable.
	const prepare = "SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true), set_config('search_path', 'public, pg_temp', true)"
	if _, err := tx.Exec(ctx, prepare, strconv.FormatInt(timeout.Milliseconds(), 10), strconv.FormatInt(lockTimeout.Milliseconds(), 10)); err != nil {
		return Found{}, err
	}
	names, err := columnsOf(ctx, conn.PgConn(), query)
	if err != nil {
		return Found{}, err
	}
	// The extended protocol accepts only one statement, whatever the pool's settings.
	answer := conn.PgConn().ExecParams(ctx, bounded(query, len(names)), nil, nil, nil, nil)
	found := collect(answer, names)
	if _, err := answer.Close(); err != nil {
		return Found{}, err
	}
	return found, nil
}

// columnsOf returns the query's column names. Postgres describes the query as a subquery, the form
// in which it runs later.
func columnsOf(ctx context.Context, conn *pgconn.PgConn, query string) ([]string, error) {
	described, err := conn.Prepare(ctx, "", "SELECT * FROM ("+query+"\n) AS finding", nil)
	if err != nil {
		return nil, err
	}
	if len(described.Fields) == 0 {
		return nil, &RefusedError{Message: "it returns no columns, so a row would show nothing"}
	}
	names := make([]string, len(described.Fields))
	for i, field := range described.Fields {
		names[i] = field.Name
	}
	return names, nil
}

// bounded returns the query with limits on its rows and values. Its columns are renamed,
// because two of them may have the same name.
func bounded(query string, columns int) string {
	values, names := make([]string, columns), make([]string, columns)
	for i := range columns {
		names[i] = "c" + strconv.Itoa(i+1)
		values[i] = fmt.Sprintf("left(%s::text, %d)", names[i], maxValue)
	}
	return fmt.Sprintf("SELECT %s FROM (%s\n) AS finding(%s) LIMIT %d", strings.Join(values, ", "), query, strings.Join(names, ", "), MaxCount+1)
}

func collect(answer *pgconn.ResultReader, names []string) Found {
	var found Found
	for answer.NextRow() {
		if found.Count == MaxCount {
			found.More = true
			continue
		}
		found.Count++
		if len(found.Rows) == MaxShown {
			continue
		}
		row := make(Row, len(names))
		for i, value := range answer.Values() {
			row[i].Name = names[i]
			if value != nil {
				row[i].Value = new(string(value))
			}
		}
		found.Rows = append(found.Rows, row)
	}
	return found
}

// messageOf returns the message of an error without the details, which quote rows. For a cancelled
// query, it returns the time limit and advice.
func messageOf(e *pgconn.PgError) string {
	if e.Code == sqlstate.QueryCanceled {
		return "it was cancelled after " + Timeout.String() + ", the limit: read fewer rows, or create an index"
	}
	return e.Message + " (SQLSTATE " + e.Code + ")"
}
