package doctor

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const directURL = "set database.direct_url to an address that leads past the pooler, and leave database.url as it is"

// Pooler checks that the connections of a pool are the server's, and not those of a pooler
// that gives them to others: a Problem says that nothing else can be asked reliably. It asks
// which process of the server is behind a connection. A pooler makes up the number that a
// client gets when it connects. One that pools transactions gives two clients, of which
// neither has left, the same process.
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
		return Finding{Level: OK, Check: "pooler", Message: "no pooler is in between"}, nil
	}
	unsure := Finding{
		Level: Warning, Check: "pooler", Fix: "if it pools transactions, " + directURL,
		Message: "a pooler is in between: LISTEN and prepared statements work only if it pools sessions",
	}
	if pool.Config().MaxConns < 2 { // there is no second connection to compare with
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
		Message: "a pooler is in between that gives the server's connections away after each transaction: LISTEN and prepared statements do not work",
	}, nil
}

func processBehind(ctx context.Context, conn *pgx.Conn) (process uint32, err error) {
	// Nothing is prepared: that is what a pooler breaks.
	if err = conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&process); err != nil {
		err = fmt.Errorf("ask the server which process it is: %w", err)
	}
	return process, err
}
