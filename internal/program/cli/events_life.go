package cli

import (
	"context"
	"fmt"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// explainRoutes evaluates the configured routes for the event, or records why it cannot.
func (c *cli) explainRoutes(ctx context.Context, l *life.Event) {
	cfg, err := c.loadConfig()
	if err != nil {
		l.NoRoutes = "no configuration could be read"
		return
	}
	table, err := app.Routes(cfg)
	if err != nil {
		l.NoRoutes = "the routes of the configuration have problems; list them with: " + c.command("check")
		return
	}
	l.Explain(ctx, table)
}

func (c *cli) printLife(l *life.Event) {
	c.printEvent(l.Event)
	c.printRoutes(l)
	fmt.Fprintf(c.Stdout, "\neffects\n")
	if len(l.Effects) == 0 {
		fmt.Fprintf(c.Stdout, "  none%s\n", c.flags().AddTo(life.WhyNone(l.Event)))
	}
	for _, d := range l.Effects {
		suppressed := ""
		if d.Suppressed {
			suppressed = ", created by an earlier event with the same key"
		}
		fmt.Fprintf(c.Stdout, "  %s  %s  %s, %s%s\n", d.IdempotencyKey, safetext.Shown(d.Destination), d.State, counted(d.Attempt, "attempt"), suppressed)
	}
	if len(l.Actions) > 0 {
		fmt.Fprintf(c.Stdout, "\noperator actions\n")
	}
	for _, a := range l.Actions {
		fmt.Fprintf(c.Stdout, "  %s  %s\n", shown(a.At), life.ActionLine(a))
	}
	fmt.Fprintf(c.Stdout, "\ntimeline\n")
	for _, m := range l.Timeline() {
		fmt.Fprintf(c.Stdout, "  %s  %s\n", shown(m.At), m.What)
	}
}

func (c *cli) printRoutes(l *life.Event) {
	switch {
	case l.Event.Outcome == inbox.Imported:
		return
	case l.NoRoutes != "":
		fmt.Fprintf(c.Stdout, "\nroutes\n  unknown: %s\n", l.NoRoutes)
		return
	case l.OtherRoutes:
		fmt.Fprintf(c.Stdout, "\ncurrent routes; the event was dispatched with other routes\n")
	default:
		fmt.Fprintf(c.Stdout, "\nroutes\n")
	}
	if len(l.Routes) == 0 {
		fmt.Fprintln(c.Stdout, "  none")
	}
	for _, r := range l.Routes {
		wants := "matches"
		if !r.Wants {
			wants = "does not match"
		}
		fmt.Fprintf(c.Stdout, "  %s -> %s  %s%s\n", safetext.Shown(r.Route), safetext.Shown(r.Destination), wants, life.ReasonSuffix(safetext.Shown(r.Why)))
	}
}
