package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

func (c *cli) newRuns() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, show, pause, resume, slow and stop bulk runs",
		Long: `A bulk run applies an action such as retry, replay or release to every match of a
filter. The run is stored in the database and carried out by any worker.`,
		Args: cobra.NoArgs,
		RunE: needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newRunsList(), c.newRunsShow())
	for _, v := range desk.Of(desk.Runs) {
		cmd.AddCommand(c.newRunsVerb(v))
	}
	return cmd
}

// newReplays returns the runs command under its former name. The next release removes that name.
func (c *cli) newReplays() *cobra.Command {
	cmd := c.newRuns()
	cmd.Use, cmd.Hidden = "replays", true
	return cmd
}

// runsOf returns the Runs of an outbox, with a Finder that evaluates conditions.
func runsOf(o *outbox.Outbox) *runs.Runs { return o.Runs().With(finder(o)) }

func (c *cli) withRuns(ctx context.Context, f func(*runs.Runs) error) error {
	return c.withOutbox(ctx, func(o *outbox.Outbox) error {
		return f(runsOf(o))
	})
}

func (c *cli) newRunsList() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List bulk runs, newest first",
		Long: `List bulk runs, newest first, each with its action, selection and operator. Progress is
the number of changes out of the total counted at the start. If nothing was counted, the
total is the number of matches selected so far.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			return c.showOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				found, err := runsOf(o).List(cmd.Context(), 0, limit+1)
				if err != nil {
					return err
				}
				return c.printRuns(cut(c, found, limit))
			})
		},
	}
	limitFlag(cmd, &limit)
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (c *cli) printRuns(found []runs.Run) error {
	if c.asJSON {
		views := make([]life.Run, len(found))
		for i, run := range found {
			views[i] = life.OfRun(run)
		}
		return PrintJSON(c.Stdout, views)
	}
	header := []string{"RUN", "STARTED", "STATE", "ACTION", "DONE", "REQUESTED BY", "NAME"}
	return printList(c, found, "no runs", header, func(r runs.Run) []string {
		return []string{strconv.FormatInt(r.ID, 10), shown(r.CreatedAt), string(r.State), r.Words(), changedOf(r), r.By.Who, cmp.Or(r.Name, "-")}
	})
}

// changedOf formats progress as "20 of 450".
func changedOf(r runs.Run) string {
	return fmt.Sprintf("%d of %d", r.Changed, cmp.Or(r.Total, r.Selected))
}

func (c *cli) newRunsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a bulk run and its progress",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			return c.withRuns(cmd.Context(), func(r *runs.Runs) error {
				run, err := r.Get(cmd.Context(), id)
				if err != nil {
					return c.ofRun(id, err)
				}
				if c.asJSON {
					return PrintJSON(c.Stdout, life.OfRun(run))
				}
				c.printRun(run)
				return nil
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) printRun(r runs.Run) {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.Stdout, "%-7s  %s\n", name, safetext.Shown(value))
		}
	}
	state := string(r.State) + " since " + shown(r.Since) + life.ReasonSuffix(r.Error)
	if r.State == runs.Running && !r.Worked {
		state += ", waiting for a process"
	}
	field("run", strconv.FormatInt(r.ID, 10))
	field("name", r.Name)
	field("action", r.Words())
	field("started", fmt.Sprintf("%s by %s, %s%s", shown(r.CreatedAt), r.By.Who, r.By.Via, life.ReasonSuffix(r.By.Reason)))
	field("state", state)
	field("pace", paceInWords(r.PerSecond))
	field("done", howFar(r))
	c.printOutcome(r)
}

// paceInWords formats the limit of a run's changes per second.
func paceInWords(perSecond float64) string {
	if perSecond == 0 {
		return "unlimited"
	}
	return fmt.Sprintf("at most %g per second", perSecond)
}

// runID parses the id of a run.
func runID(given string) (int64, error) {
	id, err := strconv.ParseInt(given, 10, 64)
	if err != nil || id < 1 {
		return 0, misused("%q is not a run: pass its number, such as 17", given)
	}
	return id, nil
}

// ofRun converts the error of an action on a run into an error for the user.
func (c *cli) ofRun(id int64, err error) error {
	if errors.Is(err, runs.ErrNoRun) {
		return c.noSuchRun(id)
	}
	if state, is := errors.AsType[*runs.StateError](err); is {
		return state
	}
	return err
}

func (c *cli) noSuchRun(id int64) error {
	return fmt.Errorf("no run has the number %d; list runs with: %s", id, c.command("runs list"))
}
