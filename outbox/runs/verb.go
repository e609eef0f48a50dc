package runs

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// batchSize is how many effects or refused deliveries share a transaction, at most.
const batchSize = 200

// verb is what a run does to each of those that it selects.
type verb struct {
	action ledger.Action
	word   string // in sentences
	// events are the states of the events that it is done to; nil: it is about effects, or
	// about refused deliveries.
	events  []inbox.Outcome
	refused bool
	// unredacted: events whose content was redacted are left out, too.
	unredacted bool
	// batch is how many share a transaction, at most.
	batch int
	// do does it to a batch in a step, and moves the place of the run behind it.
	do func(ctx context.Context, s *shift, place string, some []find.Found) error
	// finish does what is left when nothing more is selected, or the run was stopped. It may
	// be done again. nil: nothing.
	finish func(ctx context.Context, r *Runs, run Run, still func(context.Context) error) error
	// first: the first processes that had runs know it.
	first bool
}

// verbs are all of them. Events are done one by one: two batches that lock the effects of
// their events in another order would wait for each other.
func verbs() []verb {
	return []verb{
		{
			action: ledger.ActionReplayEvent, word: "replay", events: []inbox.Outcome{inbox.Dispatched, inbox.Skipped, inbox.Failed}, unredacted: true,
			batch: 1, do: inStep(replay), first: true,
		},
		{action: ledger.ActionReleaseEvent, word: "release", events: []inbox.Outcome{inbox.Held}, unredacted: true, batch: 1, do: inStep(release)},
		{action: ledger.ActionDropEvent, word: "drop", events: []inbox.Outcome{inbox.Held}, batch: 1, do: inStep(drop)},
		{action: erasure.ActionEraseEvent, word: "erase", events: inbox.Outcomes(), batch: 1, do: erase, finish: eraseJobs},
		{action: ledger.ActionRetryEffect, word: "retry", batch: batchSize, do: inStep(changeEffects), first: true},
		{action: ledger.ActionParkEffect, word: "park", batch: batchSize, do: inStep(changeEffects), first: true},
		{action: ledger.ActionCancelEffect, word: "cancel", batch: batchSize, do: inStep(changeEffects), first: true},
		{action: quarantine.ActionRetry, word: "retry", refused: true, batch: 1, do: verifyAgain},
		{action: quarantine.ActionDrop, word: "drop", refused: true, batch: batchSize, do: inStep(dropRefused)},
	}
}

// inStep is an action whose every batch is one transaction.
func inStep(change func(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (Counts, error)) func(context.Context, *shift, string, []find.Found) error {
	return func(ctx context.Context, s *shift, place string, some []find.Found) error {
		return s.step(ctx, place, len(some), func(ctx context.Context, tx pgx.Tx) (Counts, error) {
			return change(ctx, tx, s.Runs, s.run, some)
		})
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

func replay(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (Counts, error) {
	opts := inbox.ReplayOptions{NewKeys: run.NewKeys, Route: run.Route, Run: run.ID}
	replayed, err := r.opts.Inbox.ReplayTx(ctx, tx, some[0].Event, run.By, opts)
	did, err := unlessMoved(err)
	did.Reopened = int64(replayed.Reopened)
	return did, err
}

func release(ctx context.Context, tx pgx.Tx, r *Runs, _ Run, some []find.Found) (Counts, error) {
	return unlessMoved(r.opts.Inbox.ReleaseTx(ctx, tx, some[0].Event))
}

func drop(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (Counts, error) {
	return unlessMoved(r.opts.Inbox.DropTx(ctx, tx, some[0].Event, run.By))
}

// unlessMoved counts one event that was changed, and none where somebody was faster.
func unlessMoved(err error) (Counts, error) {
	for _, moved := range []error{inbox.ErrNotReplayable, inbox.ErrNotHeld, ledger.ErrNotFound} {
		if errors.Is(err, moved) {
			return Counts{}, nil
		}
	}
	if err != nil {
		return Counts{}, err
	}
	return Counts{Changed: 1}, nil
}

// changeEffects does an action of the ledger to a batch.
func changeEffects(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (Counts, error) {
	b := ledger.Batch{States: run.Effects.States, AsOf: run.AsOf, DoubtSince: run.DoubtSince}
	for _, e := range some {
		b.Effects = append(b.Effects, ledger.MadeEffect{IdempotencyKey: e.Key, CreatedAt: e.At})
	}
	came, err := r.opts.Ledger.ActOnTx(ctx, tx, run.Action, b, run.named())
	return Counts{Changed: came.Affected}, err
}

// known reports whether the first processes that had runs read the order as it is meant.
func (o Order) known() bool {
	return verbOf(o.Action).first && o.DoubtSince.IsZero() && o.Route == "" &&
		len(o.Events.Has) == 0 && o.Events.ID == "" && o.Events.Contains == "" && o.Effects.Contains == ""
}
