package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// StateError means that an action cannot be done to an effect in its state.
type StateError struct {
	Action Action
	State  EffectState
}

func (e *StateError) Error() string {
	state := strings.ReplaceAll(string(e.State), "_", " ")
	switch {
	case e.Action == ActionRetryEffect && e.State == EffectDone:
		return "the effect is done: what succeeded is not tried again"
	case e.Action == ActionRetryEffect && e.State.Finished():
		return "the request of the effect could not be rendered: replay its event instead"
	case e.Action == ActionRetryEffect:
		return "the effect is " + state + ": it is tried without being told to"
	case e.Action == ActionParkEffect && e.State == EffectParked:
		return "the effect is parked already"
	case e.Action == ActionParkEffect:
		return "the effect is " + state + ": only what is pending, started or in doubt can be parked"
	case e.Action == ActionCancelEffect && e.State == EffectCancelled:
		return "the effect is cancelled already"
	case e.Action == ActionCancelEffect:
		return "the effect is " + state + ": what succeeded cannot be given up"
	}
	return fmt.Sprintf("the effect is %s: %s is not possible", state, e.Action)
}

// Retry lets a failed, parked or cancelled effect be attempted again, at once,
// with the same key and body (I7). A person orders it, so it holds for
// at_most_once too (I8), and key_ttl counts anew. An effect that could not be
// rendered is not retried: its event is replayed. Errors: ErrNotFound,
// *StateError, ErrUnavailable.
func (o *Outbox) Retry(ctx context.Context, idempotencyKey string, by Operator) error {
	what := instruction{action: ActionRetryEffect, target: idempotencyKey}
	err := o.act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (consequence, error) {
		reopened, err := o.reopen(ctx, tx, idempotencyKey, EventRef{}, by.did("retried"))
		if err == nil && reopened == 0 {
			err = o.wrongState(ctx, tx, what.action, idempotencyKey)
		}
		return consequence{result: "tried again", affected: int64(reopened)}, err
	})
	if err != nil {
		return fmt.Errorf("retry effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// wrongState is why a statement did not find an effect in a state it is for.
func (o *Outbox) wrongState(ctx context.Context, tx pgx.Tx, action Action, idempotencyKey string) error {
	e, err := o.effect(ctx, tx, idempotencyKey)
	if err != nil {
		return err
	}
	return &StateError{Action: action, State: e.State}
}

// reopen counts the effects it opened again. Each has a job, or waits for its
// turn.
func (o *Outbox) reopen(ctx context.Context, tx pgx.Tx, idempotencyKey string, event EventRef, why string) (int, error) {
	rows, err := tx.Query(ctx, o.sql.reopenEffects, idempotencyKey, event.Source, event.EventID, why)
	if err != nil {
		return 0, fmt.Errorf("reopen effects: %w", err)
	}
	reopened, err := pgx.CollectRows(rows, scanHead)
	if err != nil {
		return 0, fmt.Errorf("reopen effects: %w", err)
	}
	return len(reopened), o.startReopened(ctx, tx, reopened)
}

// startReopened inserts the jobs of effects that were opened again, except of
// those that wait for their turn in an order.
func (o *Outbox) startReopened(ctx context.Context, tx pgx.Tx, reopened []head) error {
	orders := make(map[orderKey]bool)
	for _, e := range reopened {
		if e.order != "" {
			orders[e.key()] = true
		}
	}
	if err := o.lockOrders(ctx, tx, orders); err != nil {
		return err
	}
	heads, err := o.headsOf(ctx, tx, orders)
	if err != nil {
		return err
	}
	first := make(map[EffectID]bool, len(heads))
	for _, h := range heads {
		first[h.place.id] = true
	}
	var jobs []river.InsertManyParams
	for _, e := range reopened {
		if e.order == "" || first[e.place.id] {
			jobs = append(jobs, o.effectJob(e.effectJob))
		}
	}
	return o.insertJobs(ctx, tx, jobs)
}

// Cancel gives an effect up that is not done. An attempt that runs may still be
// applied, but settles nothing. Errors: ErrNotFound, *StateError,
// ErrUnavailable.
func (o *Outbox) Cancel(ctx context.Context, idempotencyKey string, by Operator) error {
	what := instruction{action: ActionCancelEffect, target: idempotencyKey}
	if err := o.putAside(ctx, o.sql.cancelEffect, by, what, "cancelled"); err != nil {
		return fmt.Errorf("cancel effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// Park puts an unfinished effect aside until a person retries or cancels it. An
// attempt that runs may still be applied, but settles nothing. Errors:
// ErrNotFound, *StateError, ErrUnavailable.
func (o *Outbox) Park(ctx context.Context, idempotencyKey string, by Operator) error {
	what := instruction{action: ActionParkEffect, target: idempotencyKey}
	if err := o.putAside(ctx, o.sql.parkEffect, by, what, "parked"); err != nil {
		return fmt.Errorf("park effect %s: %w", idempotencyKey, err)
	}
	return nil
}

// putAside runs a statement that ends an effect by a person's order, and wakes
// what waited behind it.
func (o *Outbox) putAside(ctx context.Context, statement string, by Operator, what instruction, verb string) error {
	return o.act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (consequence, error) {
		var p place
		err := tx.QueryRow(ctx, statement, what.target, by.did(verb)).
			Scan(&p.id.Scope, &p.id.Key, &p.id.Generation, &p.order, &p.acceptSeq)
		if errors.Is(err, pgx.ErrNoRows) {
			err = o.wrongState(ctx, tx, what.action, what.target)
		}
		if err != nil {
			return consequence{}, err
		}
		return consequence{result: verb, affected: 1}, o.wakeNext(ctx, tx, []place{p}, false)
	})
}
