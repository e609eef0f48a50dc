package planted

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// CommitSoFar commits what tx has written, and goes on in another transaction.
func CommitSoFar(ctx context.Context, tx pgx.Tx) error {
	for _, statement := range []string{"COMMIT", "BEGIN"} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("planted bug: %s: %w", statement, err)
		}
	}
	return nil
}
