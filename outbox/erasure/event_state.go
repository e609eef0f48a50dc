package erasure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// lockedEvent is the part of an event's state that an erasure needs.
type lockedEvent struct {
	ref                  identity.EventRef
	acceptSeq            int64
	deliveryID           uuid.UUID
	receivedAt           time.Time
	item                 string
	outcome              inbox.Outcome
	erasedAt, redactedAt *time.Time
	processedAt          *time.Time
	now                  time.Time // the transaction's time, by the database's clock
}

func (l lockedEvent) delivery() deliveryOf {
	return deliveryOf{DeliveryID: l.deliveryID, ReceivedAt: l.receivedAt}
}

func (e *Eraser) lock(ctx context.Context, tx pgx.Tx, ref identity.EventRef) (lockedEvent, error) {
	l := lockedEvent{ref: ref}
	err := e.sql.LockEvent.With(ref).QueryRow(ctx, tx).
		Scan(&l.acceptSeq, &l.deliveryID, &l.receivedAt, &l.item, &l.outcome, &l.erasedAt, &l.redactedAt, &l.processedAt, &l.now)
	if errors.Is(err, pgx.ErrNoRows) {
		return l, ledger.ErrNotFound
	}
	if err != nil {
		return l, fmt.Errorf("lock event: %w", err)
	}
	return l, nil
}

// waits reports whether the event may still be dispatched, or waits for an operator.
func (l lockedEvent) waits() bool {
	return slices.Contains([]inbox.Outcome{inbox.Received, inbox.Failed, inbox.Held}, l.outcome)
}

// madeEffect is an effect that an event created.
type madeEffect struct {
	id             identity.EffectID
	idempotencyKey string
	state          ledger.EffectState
	finishedAt     *time.Time
	objectKey      string // latest_by key of the effect, if object_versions contains it
}

// finished reports whether the effect needs no further attempt. A parked effect is not finished,
// because it still waits for an operator's decision.
func (m madeEffect) finished() bool { return m.state.Finished() && m.state != ledger.EffectParked }

func (e *Eraser) madeBy(ctx context.Context, tx pgx.Tx, ref identity.EventRef) ([]madeEffect, error) {
	rows, err := e.sql.MadeEffects.With(ref).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("find effects: %w", err)
	}
	made, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (madeEffect, error) {
		var m madeEffect
		err := row.Scan(&m.id.Scope, &m.id.Key, &m.id.Generation, &m.idempotencyKey, &m.state, &m.finishedAt, &m.objectKey)
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("find effects: %w", err)
	}
	return made, nil
}

func idsOf(made []madeEffect) []identity.EffectID {
	ids := make([]identity.EffectID, len(made))
	for i, m := range made {
		ids[i] = m.id
	}
	return ids
}

// UnfinishedError is returned when an event or effect cannot be erased yet.
type UnfinishedError struct {
	Outcome inbox.Outcome        // the event's outcome, if the outcome prevents the erasure; otherwise empty
	Effects []ledger.EffectState // states of the unfinished effects
	keys    []string             // idempotency keys of the unfinished effects
}

// Error implements error.
func (e *UnfinishedError) Error() string {
	var parts []string
	if e.Outcome != "" {
		parts = append(parts, "the event is "+string(e.Outcome))
	}
	if len(e.Effects) > 0 {
		states := slices.Clone(e.Effects)
		slices.Sort(states)
		var words []string
		for _, state := range slices.Compact(states) {
			words = append(words, strings.ReplaceAll(string(state), "_", " "))
		}
		noun := "effects are"
		if len(e.Effects) == 1 {
			noun = "effect is"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", len(e.Effects), noun, strings.Join(words, " or ")))
	}
	return "not finished: " + strings.Join(parts, ", and ")
}
