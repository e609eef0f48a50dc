// Package torture carries out one torture run. It starts real processes, sends traffic, injects
// faults and heals them, waits until all work is finished, and checks the history.
package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

// Names of a run's time settings in the history.
const (
	settingsShort      = "short"
	settingsProduction = "production"
)

// stopTimeout bounds the cleanup after a run.
const stopTimeout = time.Minute

// Run carries out one run. It returns an error if the run could not be completed. Violations are in
// the Result.
func Run(ctx context.Context, opts Options) (result Result, err error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return Result{}, err
	}
	w, err := newWorld(opts)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if err == nil && len(result.Verdict.Violations) == 0 {
			w.Forget()
		}
		err = errors.Join(err, w.Stop(stopping))
	}()
	started := time.Now()
	if err := w.start(ctx); err != nil {
		return Result{}, err
	}
	if err := w.storm(ctx); err != nil {
		return Result{}, err
	}
	if err := w.heal(ctx); err != nil {
		return Result{}, err
	}
	verdict, err := w.judge(ctx)
	if err != nil {
		return Result{}, err
	}
	result = Result{
		Verdict: verdict, Faults: w.faults.all(), Left: w.left, Commit: w.commit, Command: opts.Command, Lasted: time.Since(started),
		Acked: w.senders.Acked(), History: w.HistoryPath(),
	}
	if opts.Cluster == Patroni {
		result.Gaps, result.Crashes = w.measured.all()
	}
	return result, nil
}

// storm sends traffic and injects faults for the run's duration.
func (w *world) storm(ctx context.Context) error {
	w.History.Add(history.Record{Who: "hookstorm", Kind: history.Note, Op: history.OpRun, Run: w.about()})
	w.Phase(history.PhaseStorm)
	w.senders.Start()
	w.startListed(ctx)
	w.application.Start(ctx)
	w.operator.Start(ctx)
	w.housekeeper.start(ctx)
	evil := nemesis.New(nemesis.Options{
		History: w.History, Faults: w.chosen, Seed: w.opts.Seed, Load: w.load, Pause: w.opts.Pause,
	})
	evil.Start(ctx)
	ended := time.Now().Add(w.opts.Time)
	for time.Now().Before(ended) && ctx.Err() == nil {
		if !sleep(ctx, min(progressEvery, time.Until(ended))) {
			break
		}
		w.progress(time.Until(ended))
	}
	// Faults end first, so that all work can finish.
	if err := evil.Stop(); err != nil {
		w.Sayf("some faults could not be injected or healed: %s", err)
	}
	return context.Cause(ctx)
}

func (w *world) about() *history.Run {
	about := history.Run{
		Seed: int64(w.opts.Seed), Commit: w.commit, Previous: w.opts.Previous, Command: w.opts.Command, Settings: settingsShort, //nolint:gosec // any number is a seed
	}
	if w.opts.Production {
		about.Settings = settingsProduction
	}
	return stage.Describe(about, scenario.Destinations())
}

// heal ends every fault, stops all traffic, and waits until all work is finished, or the unfinished
// work has not decreased for Options.Patience.
func (w *world) heal(ctx context.Context) error {
	w.Phase(history.PhaseHeal)
	if err := w.repair(ctx); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, w.opts.Patience)
	defer cancel()
	if err := w.endTraffic(patience); err != nil {
		return fmt.Errorf("end the traffic: %w", err)
	}
	w.Sayf("retention deleted %d days that were years old", w.housekeeper.done)
	// Meanwhile, the operator retries parked effects that block later effects of their order.
	left, err := w.Until(ctx, stage.Quiet{
		Pool: w.primary, Listed: w.listed, Outcomes: []string{"received"}, Patience: w.opts.Patience, Meanwhile: w.operator.Unblock,
	})
	if err != nil {
		return err
	}
	if len(left) > 0 {
		w.Sayf("work is left, and has not decreased for %s: %v", w.opts.Patience, left)
	}
	w.Phase(history.PhaseQuiet)
	return nil
}

// judge stops the processes, adds the rows of the database to the history, and checks the history
// and the logs.
func (w *world) judge(ctx context.Context) (checker.Verdict, error) {
	if err := w.services.stop(ctx); err != nil {
		return checker.Verdict{}, err
	}
	verdict, err := w.Judge(ctx, w.primary, w.opts.checks())
	if err != nil {
		return verdict, err
	}
	leaks, err := w.leaks()
	verdict.Violations = append(verdict.Violations, leaks...)
	return verdict, err
}
