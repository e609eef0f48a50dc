package cli

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// newRunsVerb returns the command that applies a verb to a run.
func (c *cli) newRunsVerb(v desk.Verb) *cobra.Command {
	switch v.Action {
	case runs.ActionPace:
		return c.newRunsPace(v)
	case runs.ActionResume:
		return c.newRunsResume(v)
	}
	return c.newDeed(v, "RUN", "", func(args []string) (deed, error) { return deedOfRun(v, args[0]) })
}

func deedOfRun(v desk.Verb, given string) (deed, error) {
	id, err := runID(given)
	return deed{Verb: v, target: desk.Target{Run: id}}, err
}

func (c *cli) newRunsPace(v desk.Verb) *cobra.Command {
	return c.newDeed(v, "RUN PER_SECOND", "PER_SECOND is the maximum number of changes per second; 0 means no limit.", func(args []string) (deed, error) {
		d, err := deedOfRun(v, args[0])
		if err != nil {
			return d, err
		}
		d.terms.Pace, err = strconv.ParseFloat(args[1], 64)
		if pace := d.terms.Pace; err != nil || pace < 0 || math.IsNaN(pace) || math.IsInf(pace, 0) {
			return d, misused("%q is not a pace: pass the maximum number of changes per second, or 0 for no limit", args[1])
		}
		if d.Past = "limited to " + args[1] + " changes per second"; d.terms.Pace == 0 {
			d.Past = "no longer limited"
		}
		return d, nil
	})
}

func (c *cli) newRunsResume(v desk.Verb) *cobra.Command {
	var here bool
	const more = "With --here this command carries out the run, even if no worker is running, and an interrupt pauses the run again. If another process is already carrying out the run, the command waits and prints the progress."
	cmd := c.newDeed(v, "RUN", more, func(args []string) (deed, error) {
		d, err := deedOfRun(v, args[0])
		if here {
			d.instead = func(ctx context.Context, by ledger.Operator) error { return c.resumeHere(ctx, d.target.Run, by) }
		}
		return d, err
	})
	cmd.Flags().BoolVar(&here, "here", false, "carry out the run in this process")
	return cmd
}

func (c *cli) resumeHere(ctx context.Context, id int64, by ledger.Operator) error {
	return c.withOutbox(ctx, func(o *outbox.Outbox) error {
		r := runsOf(o)
		err := r.Resume(ctx, id, by)
		if state, is := errors.AsType[*runs.StateError](err); err != nil && (!is || state.State != runs.Running) {
			return c.ofRun(id, err)
		}
		run, err := r.Get(ctx, id)
		if err != nil {
			return c.ofRun(id, err)
		}
		if run.Action == quarantine.ActionRetry {
			return c.verifying(o, func(verify quarantine.Verify) error { return c.workHere(ctx, r.Verifying(verify), run, by) })
		}
		return c.workHere(ctx, r, run, by)
	})
}

// workHere carries out a run in this process.
func (c *cli) workHere(ctx context.Context, r *runs.Runs, run runs.Run, by ledger.Operator) error {
	s := shift{cli: c, runs: r, by: by}
	run, err := s.work(ctx, run)
	if c.asJSON {
		return errors.Join(err, PrintJSON(c.Stdout, life.OfRun(run)))
	}
	return errors.Join(err, s.tell(run))
}
