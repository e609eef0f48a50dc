package doctor

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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

func processBehind(ctx context.Context, conn *pgx.Conn) (process uint32, err error) {
	// QueryExecModeExec prepares no statement, which a pooler could break. The simple protocol
	// would need client_encoding UTF8.
	if err = conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&process); err != nil {
		err = fmt.Errorf("ask the server which process it is: %w", err)
	}
	return process, err
}
