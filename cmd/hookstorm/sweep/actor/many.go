package main

import (
	"context"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// atRun is how long a round works off its run, where no worker is faster.
const atRun = 2 * time.Second

// many gives orders about many, all of them about none: what a run does to each is what
// other orders do. They are slowed, paused, resumed and stopped, gone on with after nobody
// was at them, and come to their end.
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
		// Errors are what this process is made for, and a worker may have ended it already.
		by := ledger.Operator{Who: who, Via: "sweep"}
		_ = a.runs.Pause(ctx, run.ID, by)
		_ = a.runs.SetPace(ctx, run.ID, 10, by)
		_ = a.runs.Resume(ctx, run.ID, by)
		if stopped {
			_ = a.runs.Stop(ctx, run.ID, by)
			continue
		}
		// As one whose process was killed: a run that has ended keeps its state.
		if _, err := a.pool.Exec(ctx, `UPDATE hooklatch.replay_runs SET enqueued_at = now() - interval '1 hour', leased_until = '-infinity'
			WHERE id = $1 AND state = 'running'`, run.ID); err != nil {
			return nil //nolint:nilerr // the next round
		}
		_ = a.runs.Enqueue(ctx)
		_, _ = a.runs.Work(ctx, run.ID, time.Now().Add(atRun), nil)
	}
	return nil
}
