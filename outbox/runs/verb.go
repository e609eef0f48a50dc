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

// batchSize is the maximum number of effects or refused deliveries in a transaction.
const batchSize = 200

// verb is an action that a run applies to each of its targets.
type verb struct {
	action ledger.Action
	word   string // name of the action in sentences
	// events are the states of the events to which the action applies; nil: the action applies to
	// effects or refused deliveries.
	events  []inbox.Outcome
	refused bool
	// unredacted is true if the action excludes events with redacted content.
	unredacted bool
	// exported is true if the action also applies to events that only the export has.
	exported bool
	// batch is the maximum number of targets in a transaction.
	batch int
	// do applies the action to a batch, and moves the run's position past the batch.
	do func(ctx context.Context, s *shift, place string, some []find.Found) error
	// finish does the remaining work when nothing more is selected, or the run was stopped. It may
	// be repeated. nil: nothing to do.
	finish func(ctx context.Context, r *Runs, run Run, still func(context.Context) error) error
	// first is true if the first version with bulk runs supports the action.
	first bool
}

// verbs returns all verbs. Events are processed one by one: two batches that lock the effects of
// their events in different orders could deadlock.
func verbs() []verb {
	return []verb{
		{
			action: ledger.ActionReplayEvent, word: "replay", events: []inbox.Outcome{inbox.Dispatched, inbox.Skipped, inbox.Failed}, unredacted: true,
			batch: 1, do: replay, first: true,
		},
		{action: ledger.ActionReleaseEvent, word: "release", events: []inbox.Outcome{inbox.Held}, unredacted: true, batch: 1, do: inStep(release)},
		{action: ledger.ActionDropEvent, word: "drop", events: []inbox.Outcome{inbox.Held}, batch: 1, do: inStep(drop)},
		{action: erasure.ActionEraseEvent, word: "erase", events: inbox.Outcomes(), exported: true, batch: 1, do: erase, finish: eraseRest},
		{action: ledger.ActionRetryEffect, word: "retry", batch: batchSize, do: inStep(changeEffects), first: true},
		{action: ledger.ActionParkEffect, word: "park", batch: batchSize, do: inStep(changeEffects), first: true},
		{action: ledger.ActionCancelEffect, word: "cancel", batch: batchSize, do: inStep(changeEffects), first: true},
		{action: quarantine.ActionRetry, word: "retry", refused: true, batch: 1, do: verifyAgain},
		{action: quarantine.ActionDrop, word: "drop", refused: true, batch: batchSize, do: inStep(dropRefused)},
	}
}

// inStep returns the do function of an action whose batches are one transaction each.
func inStep(change func(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (Counts, error)) func(context.Context, *shift, string, []find.Found) error {
	return func(ctx context.Context, s *shift, place string, some []find.Found) error {
		return s.step(ctx, place, len(some), func(ctx context.Context, tx pgx.Tx) (Counts, error) {
			return change(ctx, tx, s.Runs, s.run, some)
		})
	}
}

// verbOf returns the verb for an action. Its do is nil if no run can perform the action.
func verbOf(action ledger.Action) verb {
	for _, v := range verbs() {
		if v.action == action {
			return v
		}
	}
	return verb{action: action, word: string(action)}
}

// Actions returns the actions that a run can perform.
func Actions() []ledger.Action {
	var actions []ledger.Action
	for _, v := range verbs() {
		actions = append(actions, v.action)
	}
	return actions
}

// StatesOfEvents returns the states of the events to which a run can apply an action, or nil if the
// action does not apply to events.
func StatesOfEvents(action ledger.Action) []inbox.Outcome { return verbOf(action).events }

// replay replays an event. If the delivery is no longer stored, it takes the delivery from the
// export.
func replay(ctx context.Context, s *shift, place string, some []find.Found) error {
	exported, err := s.opts.Inbox.FromExport(ctx, some[0].Event)
	if err != nil {
		return err
	}
	opts := inbox.ReplayOptions{NewKeys: s.run.NewKeys, Route: s.run.Route, Run: s.run.ID, Exported: exported}
	return s.step(ctx, place, len(some), func(ctx context.Context, tx pgx.Tx) (Counts, error) {
		replayed, err := s.opts.Inbox.ReplayTx(ctx, tx, some[0].Event, s.run.By, opts)
		did, err := unlessMoved(err)
		did.Reopened = int64(replayed.Reopened)
		return did, err
	})
}

func release(ctx context.Context, tx pgx.Tx, r *Runs, _ Run, some []find.Found) (Counts, error) {
	return unlessMoved(r.opts.Inbox.ReleaseTx(ctx, tx, some[0].Event))
}

func drop(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (Counts, error) {
	return unlessMoved(r.opts.Inbox.DropTx(ctx, tx, some[0].Event, run.named()))
}

// unlessMoved counts one changed event, or none if err means that the event had changed its state
// or had been deleted before.
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

// changeEffects applies a ledger action to a batch.
func changeEffects(ctx context.Context, tx pgx.Tx, r *Runs, run Run, some []find.Found) (Counts, error) {
	b := ledger.Batch{States: run.Effects.States, AsOf: run.AsOf, DoubtSince: run.DoubtSince}
	for _, e := range some {
		b.Effects = append(b.Effects, ledger.MadeEffect{IdempotencyKey: e.Key, CreatedAt: e.At})
	}
	came, err := r.opts.Ledger.ActOnTx(ctx, tx, run.Action, b, run.named())
	return Counts{Changed: came.Affected}, err
}

// known reports whether the first version with bulk runs understands the Order.
func (o Order) known() bool {
	return verbOf(o.Action).first && o.DoubtSince.IsZero() && o.Route == "" &&
		len(o.Events.Has) == 0 && len(o.Events.Effects) == 0 && o.Events.ID == "" && o.Events.Contains == "" && o.Effects.Contains == ""
}
