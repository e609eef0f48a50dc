package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/whatif"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/find"
)

const (
	// defaultDiffed is the default of --limit, and mostDiffed its maximum.
	defaultDiffed = 100_000
	mostDiffed    = 10_000_000
	// defaultDiffSpan is the maximum age of the compared events if no time and no id is given.
	defaultDiffSpan = 24 * time.Hour
	// diffRest is the pause of routes diff after each batch of events, as a multiple of the time
	// that the batch took.
	diffRest = 0.25
)

// routesDiff contains the flags of routes diff.
type routesDiff struct {
	selected *selection[find.Events]
	cursor   string
	limit    int
}

func (c *cli) newRoutesDiff() *cobra.Command {
	var d routesDiff
	cmd := &cobra.Command{
		Use:   "diff NEW",
		Short: "Compare the effects of the current and a new configuration on stored events",
		Long: `Plan stored events with the configuration in use (--config) and with the configuration
file NEW, and compare the effects. The output lists the effects that are added, gone or
changed, with their requests before and after. It also lists errors that would park an
effect. The command sends and writes nothing.

The flags select the events, and the newest event is compared first. Without --since,
--until and --id, the events of the last 24 hours are compared. An interrupt prints the
comparison so far. Each event is planned separately. If events share keys, a line shows
how many effects are added and gone for all compared events together.

Requests are shown without secrets, which are added at each attempt. A request that a
route renders after a refetch is not compared. The exit code is 1 if an effect would be
parked, even if the configuration in use parks it too.`,
		Example: "  " + c.Name + ` routes diff new.yaml
  ` + c.Name + ` routes diff new.yaml --source stripe --type 'invoice.*' --since 72h
  ` + c.Name + ` routes diff new.yaml --id evt_123 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.limit < 1 || d.limit > mostDiffed {
				return misused("--limit %d: allowed are 1 to %d", d.limit, mostDiffed)
			}
			asked, err := d.selected.filter()
			if err != nil {
				return err
			}
			if asked.Since.IsZero() && asked.Until.IsZero() && asked.ID == "" {
				asked.Since = time.Now().Add(-defaultDiffSpan)
			}
			return c.diffRoutes(cmd, args[0], asked, d)
		},
	}
	d.selected = selectBy[find.Events](cmd, "only ", nil)
	cmd.Flags().StringVar(&d.cursor, "cursor", "", "continue from this `cursor`, which an earlier comparison printed")
	cmd.Flags().IntVar(&d.limit, "limit", defaultDiffed, "compare at most this many events")
	c.jsonFlag(cmd)
	return cmd
}

// routesDiffView is the JSON of routes diff.
type routesDiffView struct {
	Old     string          `json:"config_hash"`
	New     string          `json:"new_config_hash"`
	Changes []config.Change `json:"settings"`
	*whatif.Report
}

func (c *cli) diffRoutes(cmd *cobra.Command, path string, asked find.Events, d routesDiff) error {
	old, err := c.loadToRun()
	if err != nil {
		return err
	}
	next, err := config.Load(path, c.Env)
	if err != nil {
		return err
	}
	if err := app.CheckConfig(next); err != nil {
		return err
	}
	view := routesDiffView{Old: old.Hash(), New: next.Hash(), Changes: listed(old.Changes(next))}
	compared := whatif.Comparison{Renamed: map[string]string{}}
	for _, change := range view.Changes {
		if change.Section == config.SectionRoute && change.Kind == config.Renamed {
			compared.Renamed[change.Name] = change.To
		}
	}
	if compared.Old, err = app.Routes(old); err != nil {
		return err
	}
	if compared.New, err = app.Routes(next); err != nil {
		return err
	}
	return c.withDatabase(cmd.Context(), func(db database) error {
		compared.Finder, compared.Inbox = finder(db.outbox), db.outbox.Inbox()
		progress := c.eachSecond()
		var err error
		view.Report, err = compared.Walk(cmd.Context(), asked, find.Cursor(d.cursor), whatif.Limits{Events: d.limit, Rest: diffRest}, func(r *whatif.Report) {
			progress("%d compared, back to %s; %d routed differently\n", r.Looked, shown(r.Back), r.Different)
		})
		if err != nil && view.Looked == 0 {
			return ofCursor(err)
		}
		err = errors.Join(err, c.printDiff(old, next, view))
		if view.More && view.Looked > 0 {
			fmt.Fprintf(c.Stderr, "compared %d, back to %s; continue with:\n  %s\n", view.Looked, shown(view.Back), commandFrom(cmd, view.Next))
		}
		if err == nil && view.Errors() > 0 {
			return errFound
		}
		return err
	})
}

func (c *cli) printDiff(old, next *config.Config, view routesDiffView) error {
	if c.asJSON {
		return PrintJSON(c.Stdout, view)
	}
	fmt.Fprintf(c.Stdout, "%s (%s) is compared with %s (%s)\n", safetext.Shown(old.Path()), view.Old, safetext.Shown(next.Path()), view.New)
	if len(view.Changes) == 0 {
		fmt.Fprintln(c.Stdout, "sources, destinations and routes are the same")
	}
	for _, change := range view.Changes {
		fmt.Fprintf(c.Stdout, "  %s %s: %s\n", change.Section, safetext.Shown(change.Name), change.Line())
	}
	r := view.Report
	fmt.Fprintf(c.Stdout, "\n%s compared, back to %s; %d routed differently\n", counted(r.Events, "event"), shown(r.Back), r.Different)
	for _, left := range r.LeftOut() {
		fmt.Fprintf(c.Stdout, "  %s\n", safetext.Shown(left))
	}
	if shared := r.SharedKeys(); shared != "" {
		fmt.Fprintf(c.Stdout, "  %s\n", shared)
	}
	if len(r.Groups) == 0 {
		_, err := fmt.Fprintln(c.Stdout, "the effects are the same")
		return err
	}
	fmt.Fprintln(c.Stdout)
	t := newTable(c.Stdout, "CHANGE", "EFFECTS", "ROUTE", "SOURCE", "TYPE", "DIFFERS IN")
	for _, g := range r.Groups {
		t.row(string(g.Kind), g.Counted(), g.Route, string(g.Source), g.Type, g.DiffersIn())
	}
	if err := t.flush(); err != nil {
		return err
	}
	if r.Ungrouped > 0 {
		fmt.Fprintf(c.Stdout, "%s in further routes and types\n", counted(r.Ungrouped, "more difference"))
	}
	for _, g := range r.Groups {
		c.printDiffExamples(g)
	}
	return nil
}

func (c *cli) printDiffExamples(g whatif.Group) {
	fmt.Fprintf(c.Stdout, "\n%s: route %s, %s %s\n", g.Kind, safetext.Shown(g.Route), safetext.Shown(string(g.Source)), safetext.Shown(g.Type))
	for _, e := range g.Examples {
		fmt.Fprintf(c.Stdout, "  %s  received %s\n", safetext.Shown(e.Event.String()), shown(e.ReceivedAt))
		for _, side := range []struct {
			mark   string
			effect *whatif.Effect
		}{{"-", e.Before}, {"+", e.After}} {
			if side.effect == nil {
				continue
			}
			for _, line := range side.effect.Lines() {
				fmt.Fprintf(c.Stdout, "    %s %s\n", side.mark, safetext.Shown(line))
			}
		}
	}
}
