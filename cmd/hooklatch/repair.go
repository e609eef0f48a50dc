package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox/repair"
)

// repairFlags say what to repair, and on whose word.
type repairFlags struct {
	restoredTo    string
	promoted, yes bool
	by            operatorFlags
}

func (c *cli) newRepair() *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use:   "repair [--restored-to TIME | --promoted]",
		Short: "Enqueue again what lost its job; say that the database was restored",
		Long: `Enqueue again every event and effect that has no live job, as workers do by
themselves every minute.

With --restored-to, say that the database was restored to an earlier time. What was
done since is not known to it. All destinations are paused, every unfinished
at_most_once effect is parked, because it may have been done, and then they are
resumed: at_least_once effects are done again under the keys they had. The times
are named in which acknowledged events of each source may be missing.

With --promoted, say that nothing is missing: a standby that had everything was
promoted, or all of the database was moved to another server.

Until one of the two is said, workers on another server start no at_most_once
effect. What would be done is only shown until --yes is given. Who said it, when
and why is recorded. TIME is like 2026-11-21T08:00:00Z, or a while ago like 36h;
interrupted, the same command goes on.`,
		Example: "  " + c.name + " repair\n" +
			"  " + c.name + ` repair --restored-to 2026-11-21T08:00:00Z --reason "disk of db1" --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.promoted && f.restoredTo != "" {
				return misused("--restored-to says that something is missing, --promoted that nothing is")
			}
			to, err := timeFlag("restored-to", f.restoredTo, time.Now())
			if err != nil {
				return err
			}
			cfg, err := c.loadForDatabase()
			if err != nil {
				return err
			}
			sources := slices.Collect(maps.Keys(cfg.Sources))
			return c.withDatabase(cmd.Context(), func(d database) error {
				o := d.outbox
				if err := c.tellServer(cmd.Context(), d); err != nil {
					return err
				}
				switch {
				case f.promoted:
					return c.repairPromoted(cmd.Context(), o.Repair(), f)
				case !to.IsZero():
					return c.repairRestored(cmd.Context(), o.Repair(), to, sources, f)
				}
				return c.repairJobs(cmd.Context(), o.Repair(), f)
			})
		},
	}
	c.database.register(cmd.Flags())
	cmd.Flags().StringVar(&f.restoredTo, "restored-to", "", "the database was restored to what it was at this `time`")
	cmd.Flags().BoolVar(&f.promoted, "promoted", false, "the database is on another server, and nothing is missing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it; without it, it is only shown")
	f.by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// tellServer says which server is spoken of, and whether processes are there: after a
// failover the former primary answers too.
func (c *cli) tellServer(ctx context.Context, d database) error {
	state, err := d.outbox.Repair().State(ctx)
	if err != nil {
		return err
	}
	at := d.pool.Config().ConnConfig
	fmt.Fprintf(c.stderr, "this is %s:%d/%s, %s; processes seen on it in the last minute: %d\n", at.Host, at.Port, at.Database, state.Here, state.Processes)
	if state.Processes == 0 {
		fmt.Fprintln(c.stderr, "if processes run, they are on another server, and it is that one that has to be spoken of")
	}
	return nil
}

// repairView is what --json prints of a repair of jobs.
type repairView struct {
	repair.Damage

	Server   repair.State `json:"server"`
	Enqueued *repair.Jobs `json:"enqueued,omitempty"` // with --yes
}

func (c *cli) repairJobs(ctx context.Context, r *repair.Repairer, f repairFlags) error {
	var view repairView
	var err error
	if view.Server, err = r.State(ctx); err != nil {
		return err
	}
	if view.Damage, err = r.Look(ctx); err != nil {
		return err
	}
	if f.yes {
		done, err := r.Enqueue(ctx, f.by.operator())
		if err != nil {
			return err
		}
		view.Enqueued = &done
	}
	if c.asJSON {
		return printJSON(c.stdout, view)
	}
	if f.yes {
		_, err := fmt.Fprintf(c.stdout, "%s and %s enqueued again\n", counted(view.Enqueued.Events, "event"), counted(view.Enqueued.Effects, "effect"))
		return err
	}
	t := newTable(c.stdout, "WHAT", "COUNT")
	t.row("events without a live job", strconv.Itoa(view.Lacking.Events))
	t.row("effects without a live job", strconv.Itoa(view.Lacking.Effects))
	t.row("jobs that River gave up", strconv.FormatInt(view.Discarded, 10))
	t.row("attempts over their lease", strconv.FormatInt(view.ExpiredLeases, 10))
	if err := t.flush(); err != nil {
		return err
	}
	if view.Lacking != (repair.Jobs{}) {
		fmt.Fprintf(c.stdout, "\nenqueue them again with:\n  %s repair --yes\n", c.name)
	}
	return c.printWithheld(view.Server)
}

// printWithheld says that a person has to speak of the server.
func (c *cli) printWithheld(s repair.State) error {
	if !s.Withheld {
		return nil
	}
	_, err := fmt.Fprintf(c.stdout, "\nat_most_once effects are withheld: the database is on %s, and what was done is known on %s\n"+
		"if it was restored, say to when:\n  %s repair --restored-to TIME\nif nothing is missing, say so:\n  %s repair --promoted\n",
		s.Here, s.Known, c.name, c.name)
	return err
}

func (c *cli) repairPromoted(ctx context.Context, r *repair.Repairer, f repairFlags) error {
	if f.yes {
		if err := r.Promoted(ctx, f.by.operator()); err != nil {
			return err
		}
	}
	state, err := r.State(ctx)
	if err != nil {
		return err
	}
	switch {
	case c.asJSON:
		return printJSON(c.stdout, state)
	case f.yes:
		_, err = fmt.Fprintf(c.stdout, "%s is the server on which it is known what was done: at_most_once effects start\n", state.Here)
	case !state.Withheld:
		_, err = fmt.Fprintf(c.stdout, "nothing to say: %s is the server on which it is known what was done\n", state.Here)
	default:
		_, err = fmt.Fprintf(c.stdout, "the database is on %s, and what was done is known on %s\n"+
			"an at_most_once effect that was done and is pending here would be done again\n"+
			"if nothing is missing, have them start with:\n  %s repair --promoted --yes\n", state.Here, state.Known, c.name)
	}
	return err
}

func (c *cli) repairRestored(ctx context.Context, r *repair.Repairer, to time.Time, sources []string, f repairFlags) error {
	var v repair.Restore
	var err error
	if f.yes {
		progress := c.eachSecond()
		v, err = r.Restored(ctx, to, sources, f.by.operator(), func(n int64) { progress("%s parked\n", counted(int(n), "effect")) })
	} else {
		v, err = r.PreviewRestore(ctx, to, sources)
	}
	if err != nil {
		return err
	}
	if c.asJSON {
		return printJSON(c.stdout, v)
	}
	if err := c.printMissing(v); err != nil {
		return err
	}
	if f.yes {
		_, err := fmt.Fprintf(c.stdout, "\n%s parked; see them with:\n  %s effects list --state parked\n", counted(int(v.Parked), "at_most_once effect"), c.name)
		return err
	}
	var unsure int64
	var where []string
	for _, u := range v.Unsure {
		unsure += u.Effects
		where = append(where, fmt.Sprintf("%d of %s", u.Effects, u.Destination))
	}
	fmt.Fprintf(c.stdout, "\n%s may have been done, and will be parked", counted(int(unsure), "at_most_once effect"))
	if unsure > 0 {
		fmt.Fprintf(c.stdout, ": %s", strings.Join(where, ", "))
	}
	_, err = fmt.Fprintf(c.stdout, "\ndo it with:\n  %s repair --restored-to %s --yes\n", c.name, to.UTC().Format(time.RFC3339Nano))
	return err
}

// printMissing names the times in which acknowledged events may be missing.
func (c *cli) printMissing(v repair.Restore) error {
	if len(v.Missing) == 0 {
		_, err := fmt.Fprintln(c.stdout, "there are no sources: no event is missing")
		return err
	}
	fmt.Fprintln(c.stdout, "events that were acknowledged in these times may be missing: have them sent again, those that are known are duplicates")
	t := newTable(c.stdout, "SOURCE", "FROM", "UNTIL", "LAST BEFORE", "FIRST SINCE")
	for _, m := range v.Missing {
		t.row(string(m.Source), shown(m.From), shown(m.Until), shown(m.LastBefore), shown(m.FirstSince))
	}
	return t.flush()
}
