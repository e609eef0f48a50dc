package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// OldestDue is the effect that waits longest for its attempt at a destination,
// for a probe to send. It is false when none is due. Errors: ErrUnavailable.
func (l *Ledger) OldestDue(ctx context.Context, destination string) (identity.EffectID, bool, error) {
	var id identity.EffectID
	err := l.db.Statement("oldest_due", func(pool *pgxpool.Pool) error {
		return l.sql.OldestDue.With(ofDestination{Destination: destination}).QueryRow(ctx, pool).Scan(&id.Scope, &id.Key, &id.Generation)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return identity.EffectID{}, false, nil
	}
	if err != nil {
		return identity.EffectID{}, false, fmt.Errorf("find oldest due effect of %s: %w", destination, err)
	}
	return id, true, nil
}
