package runs

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// batchSize is how many effects share a transaction, at most.
const batchSize = 200

// verb is what a run does to each of those that it selects.
type verb struct {
	action ledger.Action
	word   string // in sentences
	// events are the states of the events that it is done to; nil: it is about effects.
	events []inbox.Outcome
	// unredacted: events whose content was redacted are left out, too.
	unredacted bool
	// do does it to some, at most batchSize effects or one event, and returns how many it
	// changed, and how many effects it reopened besides.
	do func(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (changed, reopened int64, err error)
	// first: the first processes that had runs know it.
	first bool
}

// verbs are all of them.
func verbs() []verb {
	return []verb{
		{action: ledger.ActionReplayEvent, word: "replay", events: []inbox.Outcome{inbox.Dispatched, inbox.Skipped, inbox.Failed}, unredacted: true, do: replay, first: true},
		{action: ledger.ActionReleaseEvent, word: "release", events: []inbox.Outcome{inbox.Held}, unredacted: true, do: release},
		{action: ledger.ActionDropEvent, word: "drop", events: []inbox.Outcome{inbox.Held}, do: drop},
		{action: ledger.ActionRetryEffect, word: "retry", do: changeEffects, first: true},
		{action: ledger.ActionParkEffect, word: "park", do: changeEffects, first: true},
		{action: ledger.ActionCancelEffect, word: "cancel", do: changeEffects, first: true},
	}
}

// verbOf is that of an action; its do is nil where there is none.
func verbOf(action ledger.Action) verb {
	for _, v := range verbs() {
		if v.action == action {
			return v
		}
	}
	return verb{action: action, word: string(action)}
}

// Actions are those that a run can do.
func Actions() []ledger.Action {
	var actions []ledger.Action
	for _, v := range verbs() {
		actions = append(actions, v.action)
	}
	return actions
}

// StatesOfEvents are the states of the events that a run can do an action to; nil: it is no
// action on events.
func StatesOfEvents(action ledger.Action) []inbox.Outcome { return verbOf(action).events }

// replay dispatches an event again. Two replays that lock the effects of their events in
// another order would wait for each other, so each has a transaction of its own.
func replay(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (changed, reopened int64, err error) {
	opts := inbox.ReplayOptions{NewKeys: run.NewKeys, Route: run.Route, Run: run.ID}
	replayed, err := r.opts.Inbox.ReplayTx(ctx, tx, some[0].Event, run.By, opts)
	changed, err = unlessMoved(err)
	return changed, int64(replayed.Reopened), err
}

func release(ctx context.Context, tx pgx.Tx, r *Runs, _ Run, some []find.Found) (changed, reopened int64, err error) {
	changed, err = unlessMoved(r.opts.Inbox.ReleaseTx(ctx, tx, some[0].Event))
	return changed, 0, err
}

func drop(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (changed, reopened int64, err error) {
	changed, err = unlessMoved(r.opts.Inbox.DropTx(ctx, tx, some[0].Event, run.By))
	return changed, 0, err
}

// unlessMoved counts one event that was changed, and none where somebody was faster.
func unlessMoved(err error) (int64, error) {
	for _, moved := range []error{inbox.ErrNotReplayable, inbox.ErrNotHeld, ledger.ErrNotFound} {
		if errors.Is(err, moved) {
			return 0, nil
		}
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// changeEffects does an action of the ledger to a batch.
func changeEffects(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (changed, reopened int64, err error) {
	b := ledger.Batch{States: run.Effects.States, AsOf: run.AsOf, DoubtSince: run.DoubtSince}
	for _, e := range some {
		b.Effects = append(b.Effects, ledger.MadeEffect{IdempotencyKey: e.Key, CreatedAt: e.At})
	}
	came, err := r.opts.Ledger.ActOnTx(ctx, tx, run.Action, b, run.named())
	return came.Affected, 0, err
}

// known reports whether the first processes that had runs read the order as it is meant.
func (o Order) known() bool {
	return verbOf(o.Action).first && o.DoubtSince.IsZero() && o.Route == "" &&
		len(o.Events.Has) == 0 && o.Events.ID == "" && o.Events.Contains == "" && o.Effects.Contains == ""
}
