package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
)

// Recalled is an effect from an export, as it was when its event's day was exported.
type Recalled struct {
	Effect      Effect
	Suppressed  bool // an earlier event had created it
	Attempts    []Attempt
	Transitions []Transition
}

// Recall decodes the effects of an exported event.
func (l *Ledger) Recall(ctx context.Context, exported json.RawMessage) ([]Recalled, error) {
	rows, err := l.sql.RecallEffects.With(recallEffects{Effects: exported}).Query(ctx, pipeline.ByIndex{Sender: l.read})
	if err != nil {
		return nil, fmt.Errorf("decode exported effects: %w", err)
	}
	effects, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Recalled, error) {
		var r Recalled
		var err error
		r.Effect, err = scanEffect(row, &r.Suppressed, &r.Attempts, &r.Transitions)
		if err != nil {
			return r, err
		}
		for i := range r.Attempts {
			r.Attempts[i].StartedAt, r.Attempts[i].FinishedAt = r.Attempts[i].StartedAt.UTC(), r.Attempts[i].FinishedAt.UTC()
		}
		created := Transition{To: r.Effect.State, At: r.Effect.CreatedAt}
		for i := range r.Transitions {
			r.Transitions[i].At = r.Transitions[i].At.UTC()
		}
		if len(r.Transitions) > 0 {
			created.To = r.Transitions[0].From
		}
		r.Transitions = append([]Transition{created}, r.Transitions...)
		return r, nil
	})
	if err != nil {
		return nil, fmt.Errorf("decode exported effects: %w", err)
	}
	return effects, nil
}
