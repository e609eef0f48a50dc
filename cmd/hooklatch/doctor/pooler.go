package doctor

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckPooler is the check that a connection is one of the server, and not of a pooler
// that gives the server's connections to others.
const CheckPooler = "pooler"

const directURL = "set database.direct_url to an address that leads past the pooler, and leave database.url as it is"

// pooler asks which process of the server is behind a connection. A pooler makes up the
// number that a client gets when it connects. One that pools transactions gives two
// clients, of which neither has left, the same process.
func pooler(ctx context.Context, pool *pgxpool.Pool) (Finding, error) {
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
		return Finding{Level: OK, Check: CheckPooler, Message: "no pooler is in between"}, nil
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
		return Finding{
			Level: Warning, Check: CheckPooler, Fix: "if it pools transactions, " + directURL,
			Message: "a pooler is in between: LISTEN and prepared statements work only if it pools sessions",
		}, nil
	}
	return Finding{
		Level: Problem, Check: CheckPooler, Fix: directURL,
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
