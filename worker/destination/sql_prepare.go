package destination

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
)

// StatementError is the error of a statement that Postgres refuses in the current state of the
// database.
type StatementError struct {
	Statement string // name of the statement
	Err       error
}

// Error implements error.
func (e *StatementError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StatementError) Unwrap() error { return e.Err }

// maxPrepare limits the time in which Postgres parses a statement.
const maxPrepare = 5 * time.Second

// Prepare lets Postgres parse each statement under the destination's role and search_path, without
// running it. It returns the statements that Postgres refuses, for example because a table does not
// exist. Privileges on tables are checked only when a statement runs. If Prepare returns an error,
// the result is unknown.
func (s *SQL) Prepare(ctx context.Context, conn *pgx.Conn) ([]*StatementError, error) {
	var refused []*StatementError
	for _, name := range slices.Sorted(maps.Keys(s.statements)) {
		err := s.prepare(ctx, conn, s.statements[name].text)
		if pg, answered := sqlstate.Of(err); answered {
			refused = append(refused, &StatementError{Statement: name, Err: sqlError(name, pg.Message, pg.Code)})
		} else if err != nil {
			return nil, err
		}
	}
	return refused, nil
}

func (s *SQL) prepare(ctx context.Context, conn *pgx.Conn, text string) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was changed
	if err := s.begin(ctx, tx, maxPrepare); err != nil {
		return err
	}
	_, err = conn.PgConn().Prepare(ctx, "", text, nil)
	return err
}
