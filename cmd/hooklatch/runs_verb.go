package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/life"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// steering is what a command orders about a run.
type steering struct {
	action ledger.Action
	done   string // what the run is then
	do     func(r *runs.Runs, ctx context.Context, id int64, by ledger.Operator) error
}

var resuming = steering{runs.ActionResume, "resumed", (*runs.Runs).Resume}

func (c *cli) newRunsPause() *cobra.Command {
	return c.newSteering(steering{runs.ActionPause, "paused", (*runs.Runs).Pause}, &cobra.Command{
		Use:   "pause RUN",
		Short: "Let a run rest until it is resumed",
		Long:  `Let a run rest after the batch at hand, until it is resumed.`,
	})
}

func (c *cli) newRunsStop() *cobra.Command {
	return c.newSteering(steering{runs.ActionStop, "stopped", (*runs.Runs).Stop}, &cobra.Command{
		Use:   "stop RUN",
		Short: "End a run for good",
		Long:  `End a run after the batch at hand, for good. What was done stays done.`,
	})
}

// newSteering completes a command that orders something about one run.
func (c *cli) newSteering(what steering, cmd *cobra.Command) *cobra.Command {
	var by operatorFlags
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.steer(cmd.Context(), what, args[0], by.operator())
	}
	by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) steer(ctx context.Context, what steering, given string, by ledger.Operator) error {
	id, err := runID(given)
	if err != nil {
		return err
	}
	return c.withOutbox(ctx, func(o *outbox.Outbox) error {
		return c.carryOut(ctx, o, order{
			action: what.action, done: what.done, unknown: func(string) error { return c.noSuchRun(id) },
			do: func(o *outbox.Outbox, ctx context.Context, _ string, by ledger.Operator) error {
				return c.ofRun(id, what.do(runsOf(o), ctx, id, by))
			},
		}, fmt.Sprintf("run %d", id), by)
	})
}

func (c *cli) newRunsPace() *cobra.Command {
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   "pace RUN PER_SECOND",
		Short: "Bound how many a run changes in a second",
		Long: `Bound how many a run changes in a second from its next batch on; 0 lets it go as
fast as it goes.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			pace, err := strconv.ParseFloat(args[1], 64)
			if err != nil || pace < 0 || math.IsNaN(pace) || math.IsInf(pace, 0) {
				return misused("%q is no pace: give how many in a second, or 0 for as fast as it goes", args[1])
			}
			done := "bound to " + args[1] + " in a second"
			if pace == 0 {
				done = "let go as fast as it goes"
			}
			return c.steer(cmd.Context(), steering{runs.ActionPace, done, func(r *runs.Runs, ctx context.Context, id int64, by ledger.Operator) error {
				return r.SetPace(ctx, id, pace, by)
			}}, args[0], by.operator())
		},
	}
	by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) newRunsResume() *cobra.Command {
	var by operatorFlags
	var here bool
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Let a paused run go on",
		Long: `Let a paused run go on where it was. A worker of the database does it. With --here
this command does, also where no worker runs, and an interrupt pauses it again; a
run that is running already is joined.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if here {
				return c.resumeHere(cmd.Context(), args[0], by.operator())
			}
			return c.steer(cmd.Context(), resuming, args[0], by.operator())
		},
	}
	by.register(cmd)
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&here, "here", false, "work it off in this process")
	return cmd
}

func (c *cli) resumeHere(ctx context.Context, given string, by ledger.Operator) error {
	id, err := runID(given)
	if err != nil {
		return err
	}
	return c.withRuns(ctx, func(r *runs.Runs) error {
		err := r.Resume(ctx, id, by)
		if state, is := errors.AsType[*runs.StateError](err); err != nil && (!is || state.State != runs.Running) {
			return c.ofRun(id, err)
		}
		run, err := r.Get(ctx, id)
		if err != nil {
			return c.ofRun(id, err)
		}
		s := shift{cli: c, runs: r, by: by}
		run, err = s.work(ctx, run)
		if c.asJSON {
			return errors.Join(err, printJSON(c.stdout, life.OfRun(run)))
		}
		return errors.Join(err, s.tell(run))
	})
}
