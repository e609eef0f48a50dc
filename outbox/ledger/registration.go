package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
)

// Destination is where effects go, as workers register it.
type Destination struct {
	Name       string
	Kind       string // http, email, ...
	Queue      string // River queue
	Policy     Policy // empty: AtLeastOnce
	ConfigHash string
}

// RegisterDestinations makes destinations known to EnqueueTx. It changes
// nothing when they are known already. Errors: ErrUnavailable.
func (l *Ledger) RegisterDestinations(ctx context.Context, destinations []Destination) error {
	var names, kinds, queues, policies, hashes []string
	for _, d := range destinations {
		names, kinds, queues = append(names, d.Name), append(kinds, d.Kind), append(queues, d.Queue)
		policies = append(policies, string(NewEffect{Policy: d.Policy}.policy()))
		hashes = append(hashes, d.ConfigHash)
	}
	err := l.db.Do(ctx, "register_destinations", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := tx.Exec(ctx, l.sql.registerDestinations, names, kinds, queues, policies, hashes)
		return err
	})
	if err != nil {
		return fmt.Errorf("register destinations: %w", err)
	}
	return nil
}
