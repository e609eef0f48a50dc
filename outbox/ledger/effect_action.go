package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// StateError is returned when an action is not possible in the effect's state, or a retry has no
// request to send.
type StateError struct {
	Action Action
	State  EffectState
	Erased string // how the effect's request was removed, such as "erased by ann"; empty if it was not
}

// Error implements error.
func (e *StateError) Error() string {
	state := strings.ReplaceAll(string(e.State), "_", " ")
	switch {
	case e.Action == ActionRetryEffect && e.State == EffectDone:
		return "the effect is done: an effect that succeeded cannot be retried"
	case e.Action == ActionRetryEffect && e.Erased != "":
		return "the request of the effect is " + e.Erased + ": there is nothing to send"
	case e.Action == ActionRetryEffect && e.State.Finished():
		return "the request of the effect could not be rendered: replay its event instead"
	case e.Action == ActionRetryEffect:
		return "the effect is " + state + ": it will be attempted anyway"
	case e.Action == ActionParkEffect && e.State == EffectParked:
		return "the effect is already parked"
	case e.Action == ActionParkEffect:
		return "the effect is " + state + ": only pending, started and in-doubt effects can be parked"
	case e.Action == ActionCancelEffect && e.State == EffectCancelled:
		return "the effect is already cancelled"
	case e.Action == ActionCancelEffect:
		return "the effect is " + state + ": it can no longer be cancelled"
	}
	return fmt.Sprintf("the effect is %s: %s is not possible", state, e.Action)
}

// Retry allows a failed, parked or cancelled effect to be attempted again, immediately, with the
// same key and body (I7). An operator requests the attempt, so Retry also applies under
// at_most_once (I8), and key_ttl starts anew. Retry refuses an effect whose request was erased. It
// also refuses an effect that could not be rendered: replay its event instead. Errors: ErrNotFound,
// *StateError, ErrUnavailable.
func (l *Ledger) Retry(ctx context.Context, idempotencyKey string, by Operator) error {
	if err := l.actOnEffect(ctx, ActionRetryEffect, idempotencyKey, by); err != nil {
		return fmt.Errorf("retry effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// Cancel cancels an effect that is not done. A running attempt may still be applied, but can no
// longer settle. Errors: ErrNotFound, *StateError, ErrUnavailable.
func (l *Ledger) Cancel(ctx context.Context, idempotencyKey string, by Operator) error {
	if err := l.actOnEffect(ctx, ActionCancelEffect, idempotencyKey, by); err != nil {
		return fmt.Errorf("cancel effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// Park parks an unfinished effect until an operator retries or cancels it. A running attempt may
// still be applied, but can no longer settle. Errors: ErrNotFound, *StateError, ErrUnavailable.
func (l *Ledger) Park(ctx context.Context, idempotencyKey string, by Operator) error {
	if err := l.actOnEffect(ctx, ActionParkEffect, idempotencyKey, by); err != nil {
		return fmt.Errorf("park effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// StatesFor returns the effect states in which an action is possible, or nil if the action is not
// possible on effects.
func StatesFor(action Action) []EffectState {
	switch action {
	case ActionRetryEffect:
		return []EffectState{EffectFailed, EffectParked, EffectCancelled}
	case ActionCancelEffect:
		return []EffectState{EffectPending, EffectStarted, EffectInDoubt, EffectFailed, EffectParked}
	case ActionParkEffect:
		return []EffectState{EffectPending, EffectStarted, EffectInDoubt}
	case ActionResendEffect, ActionReplayEvent, ActionPauseDestination, ActionResumeDestination, ActionRetireDestination:
	}
	return nil
}

func (l *Ledger) actOnEffect(ctx context.Context, action Action, idempotencyKey string, by Operator) error {
	what := Instruction{Action: action, Target: unrotated(idempotencyKey)}
	return l.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (Consequence, error) {
		came, err := l.change(ctx, tx, action, chosenEffects{IdempotencyKeys: []string{what.Target}, States: StatesFor(action)}, time.Time{}, by)
		if err == nil && came.Affected == 0 {
			err = l.wrongState(ctx, tx, action, idempotencyKey)
		}
		return came, err
	})
}

// wrongState returns the reason why a statement found no effect with the key in a suitable state.
func (l *Ledger) wrongState(ctx context.Context, tx pgx.Tx, action Action, idempotencyKey string) error {
	e, err := l.effect(ctx, tx, idempotencyKey)
	if err != nil {
		return err
	}
	wrong := &StateError{Action: action, State: e.State}
	if !e.ErasedAt.IsZero() {
		wrong.Erased = e.Error
	}
	return wrong
}

// chosenEffects selects an action's effects. It skips effects that are no longer in one of States,
// or that finished after FinishedUntil.
type chosenEffects struct {
	madeIn

	IdempotencyKeys []string
	States          []EffectState
	FinishedUntil   *time.Time // nil: no bound
}

type orderedEffects struct {
	chosenEffects

	Error string // the operator and the action
}

type putAside struct {
	orderedEffects

	State      EffectState
	DoubtSince *time.Time // effects count as possibly applied since then, if a restore may have lost rows; nil otherwise
}

// change applies an action to effects and returns the result. If doubtSince is not zero, the
// effects that ActionParkEffect parks count as possibly applied since that time, unless they are in
// doubt already.
func (l *Ledger) change(ctx context.Context, tx pgx.Tx, action Action, chosen chosenEffects, doubtSince time.Time, by Operator) (Consequence, error) {
	var result string
	var affected int
	var err error
	switch action {
	case ActionRetryEffect:
		result = "tried again"
		affected, err = l.reopen(ctx, tx, chosen, by.did("retried"))
	case ActionCancelEffect:
		result = "cancelled"
		affected, err = l.putAside(ctx, tx, putAside{State: EffectCancelled, orderedEffects: orderedEffects{chosen, by.did(result)}})
	case ActionParkEffect:
		result = "parked"
		parked := putAside{State: EffectParked, DoubtSince: column.TimeOrNull(doubtSince), orderedEffects: orderedEffects{chosen, by.did(result)}}
		affected, err = l.putAside(ctx, tx, parked)
	case ActionResendEffect, ActionReplayEvent, ActionPauseDestination, ActionResumeDestination, ActionRetireDestination:
		err = fmt.Errorf("%s is not an action on effects", action)
	}
	return Consequence{Result: result, Affected: int64(affected)}, err
}

// reopen reopens effects and returns their number. Each gets a job or waits for its turn.
func (l *Ledger) reopen(ctx context.Context, tx pgx.Tx, chosen chosenEffects, why string) (int, error) {
	rows, err := l.sql.ReopenEffects.With(orderedEffects{chosenEffects: chosen, Error: why}).Query(ctx, tx)
	if err != nil {
		return 0, fmt.Errorf("reopen effects: %w", err)
	}
	reopened, err := pgx.CollectRows(rows, scanHead)
	if err != nil {
		return 0, fmt.Errorf("reopen effects: %w", err)
	}
	return len(reopened), l.startReopened(ctx, tx, reopened)
}

// keysOfEvent selects the effects of an event. An empty Route selects every route.
type keysOfEvent struct {
	identity.EventRef

	Route string
}

// ReopenTx reopens the failed, parked and cancelled effects of an event and returns their number. If
// route is not empty, it reopens only the effects of that route.
func (l *Ledger) ReopenTx(ctx context.Context, tx pgx.Tx, ref identity.EventRef, route, why string) (int, error) {
	rows, err := l.sql.KeysOfEvent.With(keysOfEvent{EventRef: ref, Route: route}).Query(ctx, tx)
	if err != nil {
		return 0, fmt.Errorf("find effects of event: %w", err)
	}
	chosen := chosenEffects{States: StatesFor(ActionRetryEffect)}
	var key string
	var made time.Time
	if _, err := pgx.ForEachRow(rows, []any{&key, &made}, func() error {
		chosen.IdempotencyKeys, chosen.madeIn = append(chosen.IdempotencyKeys, key), chosen.with(made)
		return nil
	}); err != nil {
		return 0, fmt.Errorf("find effects of event: %w", err)
	}
	if len(chosen.IdempotencyKeys) == 0 {
		return 0, nil
	}
	return l.reopen(ctx, tx, chosen, why)
}

// startReopened inserts jobs for reopened effects, except for effects that wait for their turn in
// an order.
func (l *Ledger) startReopened(ctx context.Context, tx pgx.Tx, reopened []head) error {
	orders := make(map[orderKey]bool)
	for _, e := range reopened {
		if e.order != "" {
			orders[e.key()] = true
		}
	}
	if err := l.lockOrders(ctx, tx, orders); err != nil {
		return err
	}
	heads, err := l.headsOf(ctx, tx, orders)
	if err != nil {
		return err
	}
	first := make(map[identity.EffectID]bool, len(heads))
	for _, h := range heads {
		first[h.id] = true
	}
	var jobs []riverjob.EffectJob
	for _, e := range reopened {
		if e.order == "" || first[e.id] {
			jobs = append(jobs, e.job)
		}
	}
	return l.jobs.InsertEffects(ctx, tx, jobs)
}

// putAside cancels or parks effects for an operator, returns their number, and wakes the effects
// that waited behind them.
func (l *Ledger) putAside(ctx context.Context, tx pgx.Tx, what putAside) (int, error) {
	rows, err := l.sql.PutAside.With(what).Query(ctx, tx)
	if err != nil {
		return 0, fmt.Errorf("put effects aside: %w", err)
	}
	places, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (place, error) {
		var p place
		err := row.Scan(&p.id.Scope, &p.id.Key, &p.id.Generation, &p.order, &p.acceptSeq)
		return p, err
	})
	if err != nil {
		return 0, fmt.Errorf("put effects aside: %w", err)
	}
	return len(places), l.wakeNext(ctx, tx, places, false)
}
