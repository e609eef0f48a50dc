package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
)

// Batch is a set of effects for one action.
type Batch struct {
	Effects []MadeEffect
	// States are the states in which the effects were found. An effect that has left these states,
	// or finished after AsOf, is left unchanged. A zero AsOf sets no bound.
	States []EffectState
	AsOf   time.Time
	// DoubtSince is the time since which the effects that the action parks count as possibly
	// applied, unless an attempt has already put them in doubt. Zero: parking causes no doubt.
	DoubtSince time.Time
}

// MadeEffect is an effect's key and creation time.
type MadeEffect struct {
	IdempotencyKey string
	CreatedAt      time.Time
}

// ActOnTx applies an action to a batch in the caller's transaction. The caller records the
// operator.
func (l *Ledger) ActOnTx(ctx context.Context, tx pgx.Tx, action Action, b Batch, by Operator) (Consequence, error) {
	chosen := chosenEffects{States: b.States, FinishedUntil: column.TimeOrNull(b.AsOf)}
	for _, e := range b.Effects {
		chosen.IdempotencyKeys, chosen.madeIn = append(chosen.IdempotencyKeys, e.IdempotencyKey), chosen.with(e.CreatedAt)
	}
	return l.change(ctx, tx, action, chosen, b.DoubtSince, by)
}

// Now returns the database's time.
func (l *Ledger) Now(ctx context.Context) (now time.Time, err error) {
	if err := l.sql.DatabaseClock.QueryRow(ctx, l.read).Scan(&now); err != nil {
		return now, fmt.Errorf("ask the database for the time: %w", err)
	}
	return now, nil
}
