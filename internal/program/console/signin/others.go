package signin

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// ActionEndLogins is the action of EndOf in the operator log.
const ActionEndLogins ledger.Action = "logins.end"

// Login is an active login, for display.
type Login struct {
	Name       string    `json:"name"`
	Role       Role      `json:"role"`
	Way        Way       `json:"way"`
	SignedInAt time.Time `json:"signed_in_at"`
	SeenAt     time.Time `json:"seen_at"`
}

// List returns the active logins, most recently used first.
func (l *Logins) List(ctx context.Context) ([]Login, error) {
	rows, err := l.sql.ListLogins.With(listLogins{idleFor.Seconds(), longest.Seconds()}).Query(ctx, l.db)
	if err != nil {
		return nil, fmt.Errorf("list logins: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Login])
	if err != nil {
		return nil, fmt.Errorf("list logins: %w", err)
	}
	return list, nil
}

// EndOf signs a user out everywhere, and returns the number of ended logins. The user can sign in
// again unless the configuration forbids it. Errors: ledger.ErrNotFound.
func (l *Logins) EndOf(ctx context.Context, book *ledger.Ledger, name string, by ledger.Operator) (ended int64, err error) {
	err = book.Act(ctx, by, ledger.Instruction{Action: ActionEndLogins, Target: name}, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		tag, err := l.sql.EndLoginsOf.With(ofName{name}).Exec(ctx, tx)
		if err == nil && tag.RowsAffected() == 0 {
			err = ledger.ErrNotFound
		}
		ended = tag.RowsAffected()
		return ledger.Consequence{Affected: ended}, err
	})
	if err != nil {
		return 0, fmt.Errorf("end logins: %w", err)
	}
	return ended, nil
}
