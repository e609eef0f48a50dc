package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/schema"
)

const directURL = "set database.direct_url to an address that bypasses the pooler, and leave database.url as it is"

// Pooler checks that the pool's connections lead to the server, not to a pooler that shares them
// with other clients. If Pooler returns a Problem, no other check is reliable. Pooler asks for the
// server process behind each connection. Behind a pooler, this is not the process that the client
// was told when it connected. Behind a transaction pooler, two connections can share a process.
func Pooler(ctx context.Context, pool *pgxpool.Pool) (Finding, error) {
	first, err := pool.Acquire(ctx)
	if err != nil {
		return Finding{}, fmt.Errorf("reach the database: %w", err)
	}
	defer first.Release()
	behindFirst, err := processBehind(ctx, first.Conn())
	if err != nil {
		return Finding{}, err
	}
	if behindFirst == first.Conn().PgConn().PID() {
		return Finding{Level: OK, Check: "pooler", Message: "connected without a pooler"}, nil
	}
	unsure := Finding{
		Level: Warning, Check: "pooler", Fix: "if the pooler pools transactions, " + directURL,
		Message: "connected through a pooler: LISTEN and prepared statements work only if it pools sessions",
	}
	if pool.Config().MaxConns < 2 { // no second connection for comparison
		return unsure, nil
	}
	second, err := pool.Acquire(ctx)
	if err != nil {
		return Finding{}, fmt.Errorf("reach the database: %w", err)
	}
	defer second.Release()
	behindSecond, err := processBehind(ctx, second.Conn())
	if err != nil {
		return Finding{}, err
	}
	if behindFirst != behindSecond {
		return unsure, nil
	}
	return Finding{
		Level: Problem, Check: "pooler", Fix: directURL,
		Message: "connected through a pooler that reassigns server connections after each transaction: LISTEN and prepared statements do not work",
	}, nil
}

// place identifies the database of a connection: the columns of query/database.sql.
type place struct {
	StartedAt  time.Time
	Name       string
	InRecovery bool
}

// String returns the place as text for an operator.
func (p place) String() string {
	text := fmt.Sprintf("database %q of the server that started at %s", p.Name, p.StartedAt.UTC().Format(time.RFC3339Nano))
	if p.InRecovery {
		text += " on a standby"
	}
	return text
}

// ElsewhereError means that url and direct_url of a configuration lead to different databases.
type ElsewhereError struct{ URL, Direct string }

// Error implements error.
func (e *ElsewhereError) Error() string {
	return "it leads to " + e.URL + ", and direct_url to " + e.Direct
}

// SameDatabase returns an *ElsewhereError if the pool leads to a different database than direct,
// which bypasses a pooler. It returns another error if a query to one of them fails.
func SameDatabase(ctx context.Context, pool, direct *pgxpool.Pool, name schema.Name) error {
	q, err := loadQuestions(name.OrDefault())
	if err != nil {
		return err
	}
	var places [2]place
	for i, one := range []*pgxpool.Pool{pool, direct} {
		rows, err := q.Database.Query(ctx, one)
		if err != nil {
			return fmt.Errorf("ask for the database: %w", err)
		}
		if places[i], err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[place]); err != nil {
			return fmt.Errorf("ask for the database: %w", err)
		}
	}
	if a, b := places[0].String(), places[1].String(); a != b {
		return &ElsewhereError{URL: a, Direct: b}
	}
	return nil
}

func processBehind(ctx context.Context, conn *pgx.Conn) (process uint32, err error) {
	// QueryExecModeExec prepares no statement: behind a pooler, a prepared statement may be
	// missing. The simple protocol would need client_encoding UTF8.
	if err = conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&process); err != nil {
		err = fmt.Errorf("ask the server which process it is: %w", err)
	}
	return process, err
}
