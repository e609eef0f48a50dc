package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Effect loads an effect by its original or rotated idempotency key. Errors: ErrNotFound.
func (l *Ledger) Effect(ctx context.Context, idempotencyKey string) (Effect, error) {
	e, err := l.effect(ctx, pipeline.ByIndex{Sender: l.read}, idempotencyKey)
	if err != nil {
		return Effect{}, fmt.Errorf("load effect %s: %w", idempotencyKey, err)
	}
	return e, nil
}

func (l *Ledger) effect(ctx context.Context, db statement.DB, idempotencyKey string) (Effect, error) {
	rows, err := l.sql.EffectByKey.With(effectByKey{IdempotencyKey: idempotencyKey}).Query(ctx, db)
	if err != nil {
		return Effect{}, err
	}
	e, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (Effect, error) { return scanEffect(row) })
	if errors.Is(err, pgx.ErrNoRows) {
		return Effect{}, ErrNotFound
	}
	return e, err
}

// EffectsByID loads effects for display to operators, without their bodies. It uses one statement,
// which looks up each effect by its key. Deleted effects are missing from the result.
func (l *Ledger) EffectsByID(ctx context.Context, ids []identity.EffectID) (map[identity.EffectID]Effect, error) {
	rows, err := l.sql.EffectRows.With(askedEffects{Asked: ids}).Query(ctx, pipeline.ByIndex{Sender: l.read})
	if err != nil {
		return nil, fmt.Errorf("load effects: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Effect, error) { return scanEffect(row) })
	if err != nil {
		return nil, fmt.Errorf("load effects: %w", err)
	}
	effects := make(map[identity.EffectID]Effect, len(found))
	for _, e := range found {
		effects[e.EffectID] = e
	}
	return effects, nil
}

// Attempt is one ended attempt of an effect.
type Attempt struct {
	Attempt         int         `json:"attempt"`
	StartedAt       time.Time   `json:"started_at"`
	FinishedAt      time.Time   `json:"finished_at"`
	Lost            bool        `json:"lost,omitzero"`            // never settled: its lease expired, or an operator parked or cancelled the effect
	State           EffectState `json:"state"`                    // effect state after the attempt
	Applied         string      `json:"applied"`                  // yes, no or unknown
	ResponseStatus  int         `json:"response_status,omitzero"` // 0 without a response
	ResponseExcerpt string      `json:"response_excerpt,omitzero"`
	Error           string      `json:"error,omitzero"`
	JobID           int64       `json:"job_id,omitzero"`
	KeyRotation     int         `json:"key_rotation,omitzero"` // number of rotations before the attempt; 0: it sent the original key
}

// Attempts lists the attempts of an effect that have ended, oldest first.
func (l *Ledger) Attempts(ctx context.Context, id identity.EffectID) ([]Attempt, error) {
	rows, err := l.sql.EffectAttempts.With(id).Query(ctx, pipeline.ByIndex{Sender: l.read})
	if err != nil {
		return nil, fmt.Errorf("list attempts: %w", err)
	}
	attempts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Attempt, error) {
		var a Attempt
		var status *int
		var jobID *int64
		err := row.Scan(&a.Attempt, &a.StartedAt, &a.FinishedAt, &a.Lost, &a.State, &a.Applied, &status, &a.ResponseExcerpt, &a.Error, &jobID, &a.KeyRotation)
		a.ResponseStatus, a.JobID = column.OrZero(status), column.OrZero(jobID)
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("list attempts: %w", err)
	}
	return attempts, nil
}

// EventEffect links an event to one of its effects.
type EventEffect struct {
	identity.EffectID

	// Suppressed is true if an earlier event had created the effect with this key.
	Suppressed     bool        `json:"suppressed"`
	IdempotencyKey string      `json:"idempotency_key"`
	Destination    string      `json:"destination"`
	State          EffectState `json:"state"`
	Attempt        int         `json:"attempt"`
}

// EffectsOfEvent lists an event's effects. It includes effects of earlier events that used the same
// keys.
func (l *Ledger) EffectsOfEvent(ctx context.Context, ref identity.EventRef) ([]EventEffect, error) {
	rows, err := l.sql.EffectsOfEvent.With(ref).Query(ctx, pipeline.ByIndex{Sender: l.read})
	if err != nil {
		return nil, fmt.Errorf("list effects of %s: %w", ref, err)
	}
	links, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (EventEffect, error) {
		var link EventEffect
		err := row.Scan(&link.Scope, &link.Key, &link.Generation, &link.Suppressed,
			&link.IdempotencyKey, &link.Destination, &link.State, &link.Attempt)
		return link, err
	})
	if err != nil {
		return nil, fmt.Errorf("list effects of %s: %w", ref, err)
	}
	return links, nil
}

// OldestDue returns the destination's effect that has been due longest, for a probe to send. Of the
// ordered effects, it considers only those in the first page of orders that has a due effect. It
// skips effects that a claim would block behind an event or behind other effects of their order. It
// returns false if no effect is due. Errors: ErrUnavailable.
func (l *Ledger) OldestDue(ctx context.Context, destination string) (identity.EffectID, bool, error) {
	var oldest dueEffect
	err := l.db.Statement("oldest_due", func(db pipeline.ByIndex) error {
		d := &oldest
		return l.sql.OldestDue.With(ofDestination{Destination: destination}).QueryRow(ctx, db).Scan(&d.Scope, &d.Key, &d.Generation, &d.since)
	})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return identity.EffectID{}, false, fmt.Errorf("find oldest due effect of %s: %w", destination, err)
	}
	ordered, err := l.oldestDueInOrders(ctx, destination)
	if err != nil {
		return identity.EffectID{}, false, fmt.Errorf("find oldest due effect of %s in its orders: %w", destination, err)
	}
	if oldest.since.IsZero() || (!ordered.since.IsZero() && ordered.since.Before(oldest.since)) {
		oldest = ordered
	}
	return oldest.EffectID, !oldest.since.IsZero(), nil
}

// dueEffect is an effect that may be attempted. since is the time it became due, or zero if there
// is no effect.
type dueEffect struct {
	identity.EffectID

	since time.Time
}

// oldestDueInOrders reads one page of orders after another until a page has a due effect, and
// returns the effect of that page that has been due longest.
func (l *Ledger) oldestDueInOrders(ctx context.Context, destination string) (due dueEffect, err error) {
	page := pageOfOrders{Limit: ordersInPage}
	for more := true; more && err == nil && due.since.IsZero(); {
		more = false
		err = l.db.Statement("oldest_due", func(db pipeline.ByIndex) error {
			rows, err := l.sql.OldestDueInOrders.With(oldestDueInOrders{Destination: destination, pageOfOrders: page}).Query(ctx, db)
			if err != nil {
				return err
			}
			var found dueEffect
			var order string
			_, err = pgx.ForEachRow(rows, []any{&found.Scope, &found.Key, &found.Generation, &found.since, &order, &more}, func() error {
				if more {
					page.AfterScope, page.AfterOrderKey = found.Scope, order
				} else {
					due = found
				}
				return nil
			})
			return err
		})
	}
	return due, err
}

// Transition is one state change of an effect.
type Transition struct {
	From    EffectState `json:"from,omitzero"` // empty for the effect's creation
	To      EffectState `json:"to"`
	Attempt int         `json:"attempt"` // number of attempts started so far
	At      time.Time   `json:"at"`
	Reason  string      `json:"reason,omitzero"` // empty if no reason is needed
	JobID   int64       `json:"job_id,omitzero"`
}

// Transitions lists an effect's state changes, its creation first. The database itself records them
// and refuses illegal transitions.
func (l *Ledger) Transitions(ctx context.Context, id identity.EffectID) ([]Transition, error) {
	rows, err := l.sql.EffectTransitions.With(id).Query(ctx, pipeline.ByIndex{Sender: l.read})
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
