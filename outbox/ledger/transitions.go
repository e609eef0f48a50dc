package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Transition is one step of an effect through its states.
type Transition struct {
	From    EffectState `json:"from,omitzero"` // empty for its creation
	To      EffectState `json:"to"`
	Attempt int         `json:"attempt"` // attempts started so far
	At      time.Time   `json:"at"`
	Reason  string      `json:"reason,omitzero"` // empty for what needs none
	JobID   int64       `json:"job_id,omitzero"`
}

// Transitions lists what an effect went through, its creation first. The
// database itself records them and refuses illegal ones.
func (l *Ledger) Transitions(ctx context.Context, id identity.EffectID) ([]Transition, error) {
	rows, err := l.sql.EffectTransitions.With(id).Query(ctx, l.read)
	if err != nil {
		return nil, fmt.Errorf("list transitions: %w", err)
	}
	transitions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Transition, error) {
		var t Transition
		var order int64
		err := row.Scan(&t.From, &t.To, &t.Attempt, &t.At, &t.Reason, &t.JobID, &order)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("list transitions: %w", err)
	}
	return transitions, nil
}
