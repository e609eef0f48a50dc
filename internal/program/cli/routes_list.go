package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

func (c *cli) newRoutesList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List routes and count the effects that each created recently",
		Long: `List the routes of the configuration, with the number of effects created, failed and
left out in the last hour and the last day. An effect counts as failed if it failed
permanently, was parked, or could not be rendered. It is left out if an earlier event
had the same key, or if a newer effect of the same object was done. The counts of the
last day are up to five minutes old.

The last error belongs to the newest effect that needs attention and was created in the
last day. If many effects need attention, only the newest 1000 are read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withRoutes(cmd.Context(), func(r routes.Reader, list []routes.Route) error {
				states, err := r.All(cmd.Context(), list)
				if err != nil {
					return err
				}
				header := []string{"ROUTE", "FROM", "TYPES", "TO", "HOUR", "DAY", "LAST ERROR"}
				return printList(c, states, "no routes: the configuration has none", header, func(s routes.State) []string {
					return []string{s.Name, strings.Join(s.From, ","), orAll(s.Types), s.Destination, tallyOf(s.Hour), tallyOf(s.Day), lastErrorOf(s)}
				})
			})
		},
	}
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (c *cli) newRoutesShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one route with its settings, effect counts and last error",
		Long: `Show one route of the configuration: its fields and its destination's settings, with
defaults and without secrets. The output also shows its effect counts for the last
hour and the last day, and its last error. The counts of the last day are up to five
minutes old.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withRoutes(cmd.Context(), func(r routes.Reader, list []routes.Route) error {
				at := slices.IndexFunc(list, func(one routes.Route) bool { return one.Name == args[0] })
				if at < 0 {
					return fmt.Errorf("the configuration has no route %q; list them with: %s", args[0], c.command("routes list"))
				}
				state, err := r.One(cmd.Context(), list[at])
				if err != nil {
					return err
				}
				if c.asJSON {
					return PrintJSON(c.Stdout, state)
				}
				c.printRoute(state)
				return nil
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

// withRoutes runs f with the configured routes.
func (c *cli) withRoutes(ctx context.Context, f func(routes.Reader, []routes.Route) error) error {
	if _, err := c.loadConfig(); err != nil {
		return err
	}
	return c.showDatabase(ctx, func(db database) error {
		measured, err := measure.NewReader(db.pool, db.schema)
		if err != nil {
			return err
		}
		return f(routes.Reader{Measure: measured, Finder: finder(db.outbox), Now: time.Now}, app.ShownRoutes(db.config))
	})
}

func (c *cli) printRoute(s routes.State) {
	field := func(name, value string) {
		fmt.Fprintf(c.Stdout, "%-28s  %s\n", name, safetext.Shown(value))
	}
	for _, one := range s.Settings {
		field(one.Field, one.Value)
	}
	fmt.Fprintf(c.Stdout, "\ndestination %s\n", safetext.Shown(s.Destination))
	for _, one := range s.Target {
		field("  "+one.Field, one.Value)
	}
	fmt.Fprintf(c.Stdout, "\neffects\n")
	for _, period := range []struct {
		name string
		of   routes.Counts
	}{{"  last hour", s.Hour}, {"  last day", s.Day}} {
		n := period.of
		field(period.name, fmt.Sprintf("%d matched, %d created, %d done, %d failed, %d parked, %d not rendered, %d suppressed, %d superseded",
			n.Matched, n.Created, n.Done, n.Failed, n.Parked, n.Unrendered, n.Suppressed, n.Superseded))
	}
	field("  last error", lastErrorOf(s))
	if s.LastError != nil {
		field("  of effect", s.LastError.Effect)
	}
}

// orAll lists event types, or returns "all" for an empty list.
func orAll(types []string) string {
	if len(types) == 0 {
		return "all"
	}
	return strings.Join(types, ",")
}

// tallyOf formats the counts of a period as the text of a table cell.
func tallyOf(n routes.Counts) string {
	if n.Matched+n.Wrong()+n.Done == 0 {
		return "-"
	}
	text := fmt.Sprintf("%d created", n.Created)
	if n.Wrong() > 0 {
		text += fmt.Sprintf(", %d failed", n.Wrong())
	}
	if n.Left() > 0 {
		text += fmt.Sprintf(", %d left out", n.Left())
	}
	return text
}

// lastErrorOf describes a route's last error on one line.
func lastErrorOf(s routes.State) string {
	if s.LastError == nil {
		return "none since " + shown(s.ErrorsSince)
	}
	return fmt.Sprintf("%s %s: %s", shown(s.LastError.CreatedAt), s.LastError.State, s.LastError.Error)
}
