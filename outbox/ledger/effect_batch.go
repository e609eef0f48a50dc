package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/internal/column"
)

// Batch are effects that an action is done to at once.
type Batch struct {
	Effects []MadeEffect
	// States are those that the effects were found in. What has left them is left alone, and
	// so is what came to its state after AsOf; zero: whenever.
	States []EffectState
	AsOf   time.Time
	// DoubtSince has those that are parked count as perhaps applied since then, unless
	// they are in doubt for longer. Zero: they are as they were.
	DoubtSince time.Time
}

// MadeEffect names an effect, and says when it was made.
type MadeEffect struct {
	IdempotencyKey string
	CreatedAt      time.Time
}

// ActOnTx does an action to a batch in a transaction of the caller's, which records who
// ordered it.
func (l *Ledger) ActOnTx(ctx context.Context, tx pgx.Tx, action Action, b Batch, by Operator) (Consequence, error) {
	chosen := chosenEffects{States: b.States, FinishedUntil: column.TimeOrNull(b.AsOf)}
	for _, e := range b.Effects {
		chosen.IdempotencyKeys, chosen.madeIn = append(chosen.IdempotencyKeys, e.IdempotencyKey), chosen.with(e.CreatedAt)
	}
	return l.change(ctx, tx, action, chosen, b.DoubtSince, by)
}

// Now is the time by the clock of the database.
func (l *Ledger) Now(ctx context.Context) (now time.Time, err error) {
	if err := l.sql.DatabaseClock.QueryRow(ctx, l.read).Scan(&now); err != nil {
		return now, fmt.Errorf("ask the database for the time: %w", err)
	}
	return now, nil
}
