package main

import (
	"context"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// atRun is the maximum time for which a round itself processes its bulk run. A worker may end the
// run sooner.
const atRun = 2 * time.Second

// many begins two bulk runs that match nothing, because other steps cover the actions on single
// effects. It pauses, slows and resumes both runs, and stops the first run. The second run
// continues after a simulated interruption and ends.
func (a *actor) many(ctx context.Context, _ int) error {
	order := runs.Order{Action: ledger.ActionCancelEffect, Effects: find.Effects{States: []ledger.EffectState{ledger.EffectFailed}, Destination: "nobody"}}
	for _, stopped := range []bool{true, false} {
		var run runs.Run
		if err := a.order(ctx, history.Order{Action: "cancel", Key: order.Words()}, func(by ledger.Operator) (err error) {
			run, err = a.runs.Begin(ctx, order, by)
			return err
		}); err != nil || run.ID == 0 {
			return err
		}
		// This process expects errors, and a worker may have ended the run already.
		by := ledger.Operator{Who: who, Via: "sweep"}
		_ = a.runs.Pause(ctx, run.ID, by)
		_ = a.runs.SetPace(ctx, run.ID, 10, by)
		_ = a.runs.Resume(ctx, run.ID, by)
		if stopped {
			_ = a.runs.Stop(ctx, run.ID, by)
			continue
		}
		// Simulate the death of the run's process. A run that has ended keeps its state.
		if _, err := a.pool.Exec(ctx, `UPDATE hooklatch.replay_runs SET enqueued_at = now() - interval '1 hour', leased_until = '-infinity'
			WHERE id = $1 AND state = 'running'`, run.ID); err != nil {
			return nil //nolint:nilerr // the next round tries again
		}
		_ = a.runs.Enqueue(ctx)
		_, _ = a.runs.Work(ctx, run.ID, time.Now().Add(atRun), nil)
	}
	return nil
}
