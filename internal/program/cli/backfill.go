package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/gateway/backfill"
	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

type backfillFlags struct {
	since, until, via string
	types             []string
	limit             int
	dryRun, yes       bool
	by                operatorFlags
}

func (c *cli) newBackfill() *cobra.Command {
	var f backfillFlags
	cmd := &cobra.Command{
		Use:   "backfill SOURCE [flags]",
		Short: "Fetch events that a provider's webhooks missed",
		Long: `Read the list of events from the provider's API and compare it with the stored events.
Without --yes the command only counts missing events. With --yes it fetches them from
the list or asks the provider to deliver them again, depending on the source's setting
backfill.via. An event that arrives twice is a duplicate and is not stored again.

With --dry-run the exit code is 1 if events are missing.`,
		Example: "  " + c.Name + ` backfill github --since 6h --dry-run
  ` + c.Name + ` backfill stripe --since 2026-11-20 --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.dryRun && f.yes {
				return misused("--dry-run fetches nothing: omit --yes")
			}
			if f.limit < 0 {
				return misused("--limit %d: it must be at least 1, or 0 for no limit", f.limit)
			}
			order, err := f.order(time.Now())
			if err != nil {
				return err
			}
			cfg, err := c.loadForDatabase()
			if err != nil {
				return err
			}
			if cfg.Path() != "" { // without a configuration, no source is known
				if _, err := sourceOf(cfg, args[0]); err != nil {
					return err
				}
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				if err := storedHere(cmd.Context(), o, cfg, args[0]); err != nil {
					return err
				}
				return c.runBackfill(cmd.Context(), o, cfg, args[0], order, f)
			})
		},
	}
	c.database.register(cmd.PersistentFlags())
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "look at events at or after this `time` (default the end of the last pass)")
	flags.StringVar(&f.until, "until", "", "look at events before this `time` (default now minus the list's lag)")
	flags.StringSliceVar(&f.types, "types", nil, "look at events of these `types` (default the types that the endpoint is subscribed to)")
	flags.StringVar(&f.via, "via", "", "method of fetching missing events: pull or redeliver (default the source's backfill.via)")
	flags.IntVar(&f.limit, "limit", 0, "stop after this many missing events")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only report, and exit with 1 if events are missing")
	flags.BoolVar(&f.yes, "yes", false, "fetch missing events; without this flag they are only counted")
	f.by.registerWho(cmd)
	c.jsonFlag(cmd)
	cmd.AddCommand(c.newBackfillStatus())
	return cmd
}

func (f *backfillFlags) order(now time.Time) (backfill.Order, error) {
	o := backfill.Order{By: f.by.operator().Who, DryRun: !f.yes, Types: f.types, Via: backfill.Via(f.via), Limit: f.limit}
	if f.via != "" && o.Via != backfill.ViaPull && o.Via != backfill.ViaRedeliver {
		return o, misused("--via %q: allowed are pull and redeliver", f.via)
	}
	asked, err := times(f.since, f.until, now)
	o.Since, o.Until = asked.Since, asked.Until
	return o, err
}

// missingOf counts the items of one type and one hour (UTC) in a provider's list.
type missingOf struct {
	Type    string    `json:"type"`
	Hour    time.Time `json:"hour"`
	Listed  int       `json:"listed"`
	Known   int       `json:"known"`
	Missing int       `json:"missing"`
	Altered int       `json:"altered"`
}

// BackfillView is the result of the backfill command, as --json prints it.
type BackfillView struct {
	Source string         `json:"source"`
	Runs   []coverage.Run `json:"runs"`
	Found  []missingOf    `json:"found,omitempty"` // the table shows it only for a dry run
}

func (c *cli) runBackfill(ctx context.Context, o *outbox.Outbox, cfg *config.Config, source string, order backfill.Order, f backfillFlags) error {
	made, err := app.MakeBackfill(backfill.Options{Budget: time.Hour}, o, func() *config.Config { return cfg })
	if err != nil {
		return err
	}
	view := BackfillView{Source: source}
	progress := c.eachSecond()
	order.Progress = func(r coverage.Run) {
		progress("%s: %s listed, %d missing, %d recovered, redeliveries requested: %d\n", source, counted(int(r.Listed), "event"), r.Missing, r.Recovered, r.Asked)
	}
	order.Met = func(i backfill.Item, fate backfill.Fate) { view.add(i, fate) }
	if !order.DryRun {
		order.Record = func(ctx context.Context) error {
			what := ledger.Instruction{Action: coverage.ActionRun, Target: source}
			return o.Ledger().Act(ctx, f.by.operator(), what, func(context.Context, pgx.Tx) (ledger.Consequence, error) {
				return ledger.Consequence{Result: "begun"}, nil
			})
		}
	}
	if view.Runs, err = made.Run(ctx, source, order); err != nil {
		return err
	}
	if c.asJSON {
		err = PrintJSON(c.Stdout, view)
	} else {
		err = c.printBackfill(view, order.DryRun, f.dryRun)
	}
	if err != nil {
		return err
	}
	if f.dryRun && view.missing() > 0 {
		return errFound
	}
	return nil
}

func (v *BackfillView) missing() (n int64) {
	for _, r := range v.Runs {
		n += r.Missing
	}
	return n
}

// add counts a listed item that is stored or missing. It ignores all other items.
func (v *BackfillView) add(i backfill.Item, fate backfill.Fate) {
	if fate != backfill.FateKnown && fate != backfill.FateMissing {
		return
	}
	hour := i.At.UTC().Truncate(time.Hour)
	at := slices.IndexFunc(v.Found, func(m missingOf) bool { return m.Type == i.Events[0].Type && m.Hour.Equal(hour) })
	if at < 0 {
		at = len(v.Found)
		v.Found = append(v.Found, missingOf{Type: i.Events[0].Type, Hour: hour})
	}
	m := &v.Found[at]
	m.Listed++
	switch {
	case fate == backfill.FateKnown:
		m.Known++
	case i.Altered != "":
		m.Missing++
		m.Altered++
	default:
		m.Missing++
	}
}

func (c *cli) printBackfill(v BackfillView, dry, asked bool) error {
	if !dry {
		t := newTable(c.Stdout, "ACCOUNT", "LISTED", "STORED", "MISSING", "RECOVERED", "REDELIVERIES", "FILTERED", "INVALID")
		for _, r := range v.Runs {
			t.row(cmp.Or(r.Name, "-"), number(r.Listed), number(r.Known), number(r.Missing), number(r.Recovered), number(r.Asked), number(r.Filtered), number(r.Invalid))
		}
		return t.flush()
	}
	slices.SortFunc(v.Found, func(a, b missingOf) int { return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.Type, b.Type)) })
	t := newTable(c.Stdout, "HOUR", "TYPE", "LISTED", "STORED", "MISSING", "ALTERED")
	for _, m := range v.Found {
		t.row(shown(m.Hour), m.Type, strconv.Itoa(m.Listed), strconv.Itoa(m.Known), strconv.Itoa(m.Missing), strconv.Itoa(m.Altered))
	}
	if err := t.flush(); err != nil {
		return err
	}
	text := fmt.Sprintf("\n%s missing; no events were fetched", counted(int(v.missing()), "event"))
	if v.missing() > 0 && !asked {
		text += ". Fetch them with the same command and --yes"
	}
	_, err := fmt.Fprintln(c.Stdout, text)
	return err
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// shownPasses is the maximum number of passes shown for each source.
const shownPasses = 10

// ListsView contains the state of all lists and the last passes of their sources, as
// backfill status --json prints them.
type ListsView struct {
	Lists  []coverage.State `json:"lists"`
	Passes []coverage.Run   `json:"passes"`
}

func (c *cli) newBackfillStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the time up to which each source is complete, and the results of the last passes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				view, err := readLists(cmd.Context(), o.Coverage())
				if err != nil {
					return err
				}
				if c.asJSON {
					return PrintJSON(c.Stdout, view)
				}
				return c.printLists(view)
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func readLists(ctx context.Context, of *coverage.Coverage) (v ListsView, err error) {
	if v.Lists, err = of.States(ctx); err != nil {
		return v, err
	}
	v.Passes = []coverage.Run{}
	for n, s := range v.Lists {
		if n > 0 && v.Lists[n-1].Source == s.Source {
			continue // the list of another account of the same source: the passes of the source were already read
		}
		passes, err := of.Runs(ctx, s.Source, shownPasses)
		if err != nil {
			return v, err
		}
		v.Passes = append(v.Passes, passes...)
	}
	return v, nil
}

func (c *cli) printLists(v ListsView) error {
	t := newTable(c.Stdout, "SOURCE", "ACCOUNT", "COVERED UNTIL", "NEXT PASS", "WAITING", "ENDPOINT", "")
	for _, s := range v.Lists {
		t.row(string(s.Source), cmp.Or(s.Name, "-"), shown(s.CoveredUntil), shown(s.NextAt), number(s.Waiting), cmp.Or(string(s.Endpoint), "-"), cmp.Or(s.Error, s.EndpointWhy))
	}
	if err := t.flush(); err != nil || len(v.Passes) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(c.Stdout, "\nLast passes:"); err != nil {
		return err
	}
	t = newTable(c.Stdout, "STARTED", "SOURCE", "ACCOUNT", "REQUESTED BY", "MODE", "LISTED", "STORED", "MISSING", "RECOVERED", "REDELIVERIES", "LOST", "OUTCOME")
	for _, r := range v.Passes {
		t.row(shown(r.StartedAt), string(r.Source), cmp.Or(r.Name, "-"), cmp.Or(r.RequestedBy, "-"), string(r.Mode), number(r.Listed), number(r.Known), number(r.Missing),
			number(r.Recovered), number(r.Asked), number(r.Lost), r.Outcome())
	}
	return t.flush()
}
