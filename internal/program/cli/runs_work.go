package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// pauseWithin is the maximum time that an interrupted command tries to pause its run.
const pauseWithin = 10 * time.Second

// shift is a command that carries out a run and prints its progress.
type shift struct {
	*cli

	runs       *runs.Runs
	by         ledger.Operator
	whyUnclear string         // first error of --when, which a run does not store
	seen       func(runs.Run) // called after each step of this process; may be nil
}

// work carries out a run in this process, or waits while another process does. It returns when the
// run is done, failed, paused or stopped, or after an interrupt, which pauses the run. The error is
// the reason why the run is not done.
func (s *shift) work(ctx context.Context, run runs.Run) (runs.Run, error) {
	fmt.Fprintf(s.Stderr, "run %d: %s\n", run.ID, safetext.Shown(run.Words()))
	progress := s.eachSecond()
	tell := func(at runs.Run) {
		s.whyUnclear = cmp.Or(s.whyUnclear, at.WhyUnclear)
		if s.seen != nil {
			s.seen(at)
		}
		progress("%s\n", howFar(at))
	}
	run, err := s.runs.Carry(ctx, run, tell)
	if ctx.Err() != nil && run.State == runs.Running {
		return s.interrupted(ctx, run)
	}
	switch {
	case err != nil:
	case run.State == runs.Paused:
		err = fmt.Errorf("run %d was paused by another command or process", run.ID)
	case run.State == runs.Stopped:
		err = fmt.Errorf("run %d was stopped%s", run.ID, life.ReasonSuffix(run.Error))
	case run.State == runs.Failed:
		err = fmt.Errorf("run %d failed%s", run.ID, life.ReasonSuffix(run.Error))
	}
	s.sayRest(run)
	return run, err
}

// interrupted pauses a run: a user who interrupts the command expects the run to stop.
func (s *shift) interrupted(ctx context.Context, run runs.Run) (runs.Run, error) {
	err := context.Cause(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pauseWithin)
	defer cancel()
	by := s.by
	if by.Reason != "" {
		by.Reason += "; "
	}
	by.Reason += "interrupted"
	pauseErr := s.runs.Pause(ctx, run.ID, by)
	at, readErr := s.runs.Get(ctx, run.ID)
	if readErr == nil {
		run = at
	}
	if _, moved := errors.AsType[*runs.StateError](pauseErr); moved { // the run ended, or another operator paused it
		pauseErr = nil
	}
	if run.State == runs.Done {
		return run, nil
	}
	s.sayRest(run)
	return run, cmp.Or(errors.Join(pauseErr, readErr), err)
}

// sayRest prints how a paused or running run continues after the command has exited.
func (s *shift) sayRest(run runs.Run) {
	switch run.State {
	case runs.Paused:
		fmt.Fprintf(s.Stderr, "paused; resume it with:\n  %s\n", s.restOf(run))
	case runs.Running:
		fmt.Fprintf(s.Stderr, "workers continue the run; watch it with:\n  %s\n", s.restOf(run))
	case runs.Stopped, runs.Done, runs.Failed:
	}
}

// restOf returns the command that continues or shows an unfinished run, or nothing.
func (c *cli) restOf(run runs.Run) string {
	switch run.State {
	case runs.Paused:
		return c.command("runs resume " + strconv.FormatInt(run.ID, 10))
	case runs.Running:
		return c.command("runs show " + strconv.FormatInt(run.ID, 10))
	case runs.Stopped, runs.Done, runs.Failed:
	}
	return ""
}
