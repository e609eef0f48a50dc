package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/repair"
)

type repairFlags struct {
	restoredTo    string
	promoted, yes bool
	by            operatorFlags
}

func (c *cli) newRepair() *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use:   "repair [--restored-to TIME | --promoted]",
		Short: "Recreate lost jobs; confirm a restored or failed-over database",
		Long: `Enqueue every event and effect that has no live job, as workers do automatically every
minute.

--restored-to confirms that the database was restored to an earlier time, and lacks the
work done since. Hooklatch pauses all destinations, parks every unfinished
at_most_once effect, because it may have been done, and resumes the destinations.
at_least_once effects are attempted again under their old keys. For each
source the command prints the time span in which acknowledged events may be missing.

--promoted confirms that no work is missing: a standby that had all commits was
promoted, or the whole database was moved to another server.

Until an operator confirms a new server with one of these flags, workers on it start no
at_most_once effect. Without --yes the command only shows what it would do. Each
confirmation is recorded with its operator, time and reason. TIME is a
timestamp (2026-11-21T08:00:00Z), a date in UTC (2026-11-21), or a duration before now,
such as 36h. If the command is interrupted, run it again to continue.`,
		Example: "  " + c.Name + " repair\n" +
			"  " + c.Name + ` repair --restored-to 2026-11-21T08:00:00Z --reason "disk of db1" --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.promoted && f.restoredTo != "" {
				return misused("--restored-to and --promoted exclude each other: the first confirms that work is missing, the second that no work is missing")
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
	cmd.Flags().StringVar(&f.restoredTo, "restored-to", "", "confirm that the database was restored to its state at this `time`")
	cmd.Flags().BoolVar(&f.promoted, "promoted", false, "confirm that the database is on another server and that nothing is missing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "apply the repair; without this flag the command only shows what it would do")
	f.by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// tellServer prints the server to which the command is connected, and the number of processes that
// use it. After a failover, the former primary may respond too.
func (c *cli) tellServer(ctx context.Context, d database) error {
	state, err := d.outbox.Repair().State(ctx)
	if err != nil {
		return err
	}
	at := d.pool.Config().ConnConfig
	fmt.Fprintf(c.Stderr, "connected to %s:%d/%s, %s; processes seen on it in the last minute: %d\n", at.Host, at.Port, at.Database, state.Here, state.Processes)
	if state.Processes == 0 {
		fmt.Fprintln(c.Stderr, "if Hooklatch processes are running, they use another server: run this command against that one")
	}
	return nil
}

// repairView is the result of a job repair, as --json prints it.
type repairView struct {
	repair.Damage

	Server   repair.State `json:"server"`
	Enqueued *repair.Jobs `json:"enqueued,omitempty"` // set with --yes
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
		return PrintJSON(c.Stdout, view)
	}
	if f.yes {
		_, err := fmt.Fprintf(c.Stdout, "enqueued again: %s and %s\n", counted(view.Enqueued.Events, "event"), counted(view.Enqueued.Effects, "effect"))
		return err
	}
	t := newTable(c.Stdout, "FINDING", "COUNT")
	t.row("events without a live job", strconv.Itoa(view.Lacking.Events))
	t.row("effects without a live job", strconv.Itoa(view.Lacking.Effects))
	t.row("jobs that River discarded", strconv.FormatInt(view.Discarded, 10))
	t.row("attempts with an expired lease", strconv.FormatInt(view.ExpiredLeases, 10))
	if err := t.flush(); err != nil {
		return err
	}
	if view.Lacking != (repair.Jobs{}) {
		fmt.Fprintf(c.Stdout, "\nenqueue them again with:\n  %s\n", c.command("repair --yes"))
	}
	return c.printWithheld(view.Server)
}

// printWithheld prints how to confirm the server if at_most_once effects are withheld until then.
func (c *cli) printWithheld(s repair.State) error {
	if !s.Withheld {
		return nil
	}
	_, err := fmt.Fprintf(c.Stdout, "\nat_most_once effects are withheld: the database is on %s, and the confirmed server is %s\n"+
		"if the database was restored, confirm the time:\n  %s\nif nothing is missing, confirm that:\n  %s\n",
		s.Here, s.Known, c.command("repair --restored-to TIME"), c.command("repair --promoted"))
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
		return PrintJSON(c.Stdout, state)
	case f.yes:
		_, err = fmt.Fprintf(c.Stdout, "%s is confirmed: at_most_once effects start\n", state.Here)
	case !state.Withheld:
		_, err = fmt.Fprintf(c.Stdout, "nothing to confirm: %s is confirmed already\n", state.Here)
	default:
		_, err = fmt.Fprintf(c.Stdout, "the database is on %s, and the confirmed server is %s\n"+
			"an at_most_once effect that was done, but is pending in this database, would be done again\n"+
			"if nothing is missing, let at_most_once effects start with:\n  %s\n", state.Here, state.Known, c.command("repair --promoted --yes"))
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
		return PrintJSON(c.Stdout, v)
	}
	if err := c.printMissing(v); err != nil {
		return err
	}
	if f.yes {
		_, err := fmt.Fprintf(c.Stdout, "\n%s parked; see them with:\n  %s\n", counted(int(v.Parked), "at_most_once effect"), c.command("effects list --state parked"))
		return err
	}
	var unsure int64
	var where []string
	for _, u := range v.Unsure {
		unsure += u.Effects
		where = append(where, fmt.Sprintf("%d of %s", u.Effects, u.Destination))
	}
	fmt.Fprintf(c.Stdout, "\n%s may have been done and will be parked", counted(int(unsure), "at_most_once effect"))
	if unsure > 0 {
		fmt.Fprintf(c.Stdout, ": %s", strings.Join(where, ", "))
	}
	_, err = fmt.Fprintf(c.Stdout, "\napply the repair with:\n  %s\n", c.command("repair --restored-to "+to.UTC().Format(time.RFC3339Nano)+" --yes"))
	return err
}

// printMissing prints the time spans in which acknowledged events may be missing.
func (c *cli) printMissing(v repair.Restore) error {
	if len(v.Missing) == 0 {
		_, err := fmt.Fprintln(c.Stdout, "no sources exist: no events are missing")
		return err
	}
	fmt.Fprintln(c.Stdout, "events acknowledged in these time spans may be missing: have the sender deliver them again; stored events are recognised as duplicates")
	t := newTable(c.Stdout, "SOURCE", "FROM", "UNTIL", "LAST BEFORE", "FIRST SINCE")
	for _, m := range v.Missing {
		t.row(string(m.Source), shown(m.From), shown(m.Until), shown(m.LastBefore), shown(m.FirstSince))
	}
	return t.flush()
}
