package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Destination is a destination as registered by workers.
type Destination struct {
	Name       string
	Kind       string        // http, email, ...
	Queue      string        // River queue
	Policy     ledger.Policy // empty: AtLeastOnce
	ConfigHash string
}

type registerDestinations struct{ Destinations []Destination }

// RegisterDestinations registers destinations for EnqueueTx. It changes nothing for destinations
// that are already registered with the same values. Errors: ErrUnavailable.
func (f *Fleet) RegisterDestinations(ctx context.Context, destinations []Destination) error {
	rows := slices.Clone(destinations)
	for i, d := range rows {
		rows[i].Policy = cmp.Or(d.Policy, ledger.AtLeastOnce)
	}
	err := f.db.Do(ctx, "register_destinations", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := f.sql.RegisterDestinations.With(registerDestinations{Destinations: rows}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("register destinations: %w", err)
	}
	return nil
}
