// Package torture carries out one torture run: it starts everything for real, sends,
// breaks, heals, waits until nothing is left to do, and has the history judged.
package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/nemesis"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/schema"
)

// HistoryFile is the name of the history in the directory of a run.
const HistoryFile = "history.jsonl"

// What the history says of the times of a run.
const (
	settingsShort      = "short"
	settingsProduction = "production"
)

// stopTimeout bounds what ends a run.
const stopTimeout = time.Minute

// Run makes one run. Its error says that the run could not be made; what it found
// stands in the Result.
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
		err = errors.Join(err, w.teardown.run(stopping))
		if opts.Dir == "" && err == nil && len(result.Verdict.Violations) == 0 {
			err = os.RemoveAll(w.dir) // nobody asked to keep it, and it has nothing to tell
		}
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
	return Result{
		Verdict: verdict, Faults: w.faults.all(), Left: w.left, Commit: w.commit, Command: opts.Command, Lasted: time.Since(started),
		Acked: w.senders.Acked(), History: filepath.Join(w.dir, HistoryFile),
	}, nil
}

// storm sends and breaks for as long as the run lasts.
func (w *world) storm(ctx context.Context) error {
	w.history.Add(history.Record{Who: "hookstorm", Kind: history.Note, Op: history.OpRun, Run: w.about()})
	w.phase(history.PhaseStorm)
	w.senders.Start()
	w.startListed(ctx)
	w.application.Start(ctx)
	w.operator.Start(ctx)
	w.housekeeper.start(ctx)
	evil := nemesis.New(nemesis.Options{
		History: w.history, Faults: w.chosen, Seed: w.opts.Seed, Load: w.load, Pause: w.opts.Pause,
	})
	evil.Start(ctx)
	ended := time.Now().Add(w.opts.Time)
	for time.Now().Before(ended) && ctx.Err() == nil {
		if !sleep(ctx, min(progressEvery, time.Until(ended))) {
			break
		}
		w.progress(time.Until(ended))
	}
	// Faults end first, so that everything can come to its end.
	if err := evil.Stop(); err != nil {
		w.sayf("some faults could not be made: %s", err)
	}
	return context.Cause(ctx)
}

// about says what this run is.
func (w *world) about() *history.Run {
	about := &history.Run{
		Seed: int64(w.opts.Seed), Commit: w.commit, Previous: w.opts.Previous, Command: w.opts.Command, //nolint:gosec // any number is a seed
		Settings: settingsShort, Policies: map[string]string{},
	}
	if w.opts.Production {
		about.Settings = settingsProduction
	}
	for _, d := range scenario.Destinations() {
		about.Policies[d.Name] = string(d.Policy)
		if d.Kind == "http" {
			about.Honour = append(about.Honour, d.Name)
		}
	}
	return about
}

// heal ends all traffic, has everything run again, and waits until nothing is
// left to do.
func (w *world) heal(ctx context.Context) error {
	w.phase(history.PhaseHeal)
	if err := w.repair(ctx); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, w.opts.Patience)
	defer cancel()
	if err := w.endTraffic(patience); err != nil {
		return fmt.Errorf("end the traffic: %w", err)
	}
	w.sayf("retention deleted %d days of years ago", w.housekeeper.done)
	left, err := w.untilQuiet(ctx, w.opts.Patience)
	if err != nil {
		return err
	}
	if !left.none() {
		w.sayf("after %s of healing %s", w.opts.Patience, left)
	}
	w.phase(history.PhaseQuiet)
	return nil
}

// judge adds the rows of the database to the history and has it checked.
func (w *world) judge(ctx context.Context) (checker.Verdict, error) {
	if err := w.services.stop(ctx); err != nil {
		return checker.Verdict{}, err
	}
	if err := checker.Snapshot(ctx, w.primary, schema.Default, w.history); err != nil {
		return checker.Verdict{}, err
	}
	if err := w.history.Flush(); err != nil {
		return checker.Verdict{}, err
	}
	file, err := os.Open(filepath.Join(w.dir, HistoryFile))
	if err != nil {
		return checker.Verdict{}, fmt.Errorf("open the history: %w", err)
	}
	defer file.Close()
	verdict, err := checker.Check(file, w.opts.checks())
	if err != nil {
		return verdict, err
	}
	leaks, err := w.leaks()
	verdict.Violations = append(verdict.Violations, leaks...)
	return verdict, err
}
