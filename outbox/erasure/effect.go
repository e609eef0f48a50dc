package erasure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// OfEventError is returned when an effect must be erased together with the event that created it.
type OfEventError struct{ Event identity.EventRef }

// Error implements error.
func (e *OfEventError) Error() string {
	return fmt.Sprintf("it was created by event %s: erase the event to erase its effects too", e.Event)
}

// Effect erases the request, responses and errors of one effect. It returns an *OfEventError if the
// effect was created by an event whose erasure would erase the effect too. Errors: ErrNotFound,
// *OfEventError, *UnfinishedError, ErrUnavailable.
func (e *Eraser) Effect(ctx context.Context, idempotencyKey string, by ledger.Operator, order Order) (Erased, error) {
	if by.RequestID == "" {
		by.RequestID = uuid.NewString()
	}
	effect, err := e.ledger.Effect(ctx, idempotencyKey)
	if err != nil {
		return Erased{}, fmt.Errorf("erase: %w", err)
	}
	var exported *export.Found
	if e.export != nil && effect.Event != (identity.EventRef{}) {
		if exported, err = e.export.Find(ctx, effect.Event, time.Time{}); err != nil {
			return Erased{}, fmt.Errorf("erase effect %s: %w", effect.IdempotencyKey, err)
		}
	}
	for try := 1; ; try++ {
		erased, err := e.eraseEffect(ctx, effect, exported, by, order)
		if unfinished, is := errors.AsType[*UnfinishedError](err); is && order.Cancel && try < Tries {
			if err = e.GiveUp(ctx, unfinished, by); err == nil {
				continue
			}
		}
		if err == nil {
			err = e.eraseJobs(ctx, jobsOf{effects: []identity.EffectID{effect.EffectID}}, nil)
		}
		if err != nil {
			return Erased{}, fmt.Errorf("erase effect %s: %w", effect.IdempotencyKey, err)
		}
		return erased, nil
	}
}

// eraseEffect erases an effect. The parameter exported is the effect's event in the export, or nil.
func (e *Eraser) eraseEffect(ctx context.Context, effect ledger.Effect, exported *export.Found, by ledger.Operator, order Order) (Erased, error) {
	erased := Erased{Effects: 1}
	what := ledger.Instruction{Action: ActionEraseEffect, Target: effect.IdempotencyKey, Filter: order.Filter}
	err := e.ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		var state ledger.EffectState
		var event identity.EventRef
		var again, stored bool
		err := e.sql.LockEffect.With(effect.EffectID).QueryRow(ctx, tx).Scan(&state, &again, &stored, &event.Source, &event.EventID)
		if errors.Is(err, pgx.ErrNoRows) {
			return ledger.Consequence{}, ledger.ErrNotFound
		}
		if err != nil {
			return ledger.Consequence{}, fmt.Errorf("lock effect: %w", err)
		}
		if event != (identity.EventRef{}) {
			return ledger.Consequence{}, &OfEventError{Event: event}
		}
		if exported != nil && !stored {
			reached, err := e.reaches(ctx, tx, exported, effect.EffectID)
			if err != nil {
				return ledger.Consequence{}, err
			}
			if reached {
				return ledger.Consequence{}, &OfEventError{Event: exported.Event.EventRef}
			}
		}
		if m := (madeEffect{state: state}); !m.finished() {
			return ledger.Consequence{}, &UnfinishedError{Effects: []ledger.EffectState{state}, keys: []string{effect.IdempotencyKey}}
		}
		if _, err := e.sql.EraseEffect.With(eraseEffect{EffectID: effect.EffectID, Note: "erased by " + by.Who}).Exec(ctx, tx); err != nil {
			return ledger.Consequence{}, fmt.Errorf("erase texts: %w", err)
		}
		erased.Again = again
		return ledger.Consequence{Affected: 1}, nil
	})
	return erased, err
}

// reaches reports whether an erasure of an exported event erases the effect too.
func (e *Eraser) reaches(ctx context.Context, tx pgx.Tx, exported *export.Found, effect identity.EffectID) (bool, error) {
	event, err := exportedEvent(exported)
	if err != nil {
		return false, err
	}
	made, _, err := e.storedEffects(ctx, tx, event, exported)
	return slices.Contains(idsOf(made), effect), err
}
