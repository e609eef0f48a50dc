package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/forecast"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/worker/route"
)

// eventsFlags are the flags of a bulk run on events.
type eventsFlags struct {
	runFlags

	action   ledger.Action
	selected *selection[find.Events]
	by       operatorFlags
}

// register declares the flags. The help text of each filter flag begins with the parameter doing,
// such as "replay ". The parameter except names the fields without a flag.
func (f *eventsFlags) register(cmd *cobra.Command, doing string, except ...string) {
	f.selected = selectBy[find.Events](cmd, doing, map[string][]string{"state": textsOf(runs.StatesOfEvents(f.action))}, except...)
	f.runFlags.register(cmd, "events")
	f.by.register(cmd)
}

// ofMany reports whether flags were set that do not apply to a single event.
func (f *eventsFlags) ofMany() bool {
	return f.selected.given() || f.rate != 0 || f.detach || f.label != ""
}

// order returns the bulk run that the flags describe.
func (f *eventsFlags) order() (o runs.Order, err error) {
	o.Action = f.action
	if o.Events, err = f.selected.filter(); err != nil {
		return o, err
	}
	return o, checkRate(f.rate, "events")
}

// newEventsReplay returns the command that replays events. Unlike the commands of newEventsVerb,
// the command has flags for routes and keys, and prints a forecast.
func (c *cli) newEventsReplay(v desk.Verb) *cobra.Command {
	f := eventsFlags{action: v.Action}
	var newKeys bool
	var only string
	cmd := &cobra.Command{
		Use:   v.Name + " (SOURCE EVENT_ID | FLAGS)",
		Short: v.Short,
		Long: longOf(v, "To replay many events, select them with flags.") + `

--new-keys creates new effects under new keys, so that receivers apply them again.
--route dispatches only that route; effects of other routes stay unchanged. Every replay
is recorded.

Without --yes the command counts the selected events and shows a sample. With --yes it
stores the selection as a bulk run and replays the events in the order in which they
were accepted. The run omits events accepted after it started, and events for which
--when cannot be evaluated. An interrupt pauses the run, and 'hooklatch runs resume'
continues it. With --detach, or if the command is killed, workers carry out the run.

--state is the state of the event, not of its effects. To retry failed effects, use
'hooklatch effects retry'.

A time is a timestamp (2026-11-21T08:00:00Z), a date in UTC (2026-11-21), or a duration
before now, such as 36h.`,
		Example: "  " + c.Name + ` events replay stripe evt_123
  ` + c.Name + ` events replay --state skipped --since 36h
  ` + c.Name + ` events replay --state skipped --when 'body.data.object.amount_paid > 0' --yes
  ` + c.Name + ` events replay --route erp-invoice --since 72h --new-keys
  ` + c.Name + ` events replay --source stripe --type invoice.paid --since 2026-11-20 --until 2026-11-21 --rate 20 --yes`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts := inbox.ReplayOptions{NewKeys: newKeys, Route: only}
			switch {
			case len(args) > 0:
				ref, err := eventRef(args)
				if f.ofMany() {
					err = misused("an event and a selection by flags exclude each other")
				}
				if err := cmp.Or(err, c.ofRoute(&runs.Order{EventTerms: runs.EventTerms{Route: only}})); err != nil {
					return err
				}
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
					return c.replayOne(cmd.Context(), o, ref, f.by.operator(), opts)
				})
			case !f.selected.given() && only == "":
				return misused("name an event, or select events with --route, %s", f.selected.names())
			}
			o, err := f.order()
			o.NewKeys, o.Route = newKeys, only
			if err := cmp.Or(err, c.ofRoute(&o)); err != nil {
				return err
			}
			return c.carryOutMany(cmd.Context(), manyOrder{cli: c, runFlags: f.runFlags, cmd: cmd, by: f.by.operator(), order: o})
		},
	}
	f.register(cmd, v.Name+" ")
	c.jsonFlag(cmd)
	cmd.Flags().StringVar(&only, "route", "", "dispatch only this `route`; effects of other routes stay as they are")
	cmd.Flags().BoolVar(&newKeys, "new-keys", false, "create new effects under new keys, so that receivers apply them again")
	return cmd
}

// ofRoute checks that the configuration, if any, contains the selection's route, and narrows the
// selection to the route.
func (c *cli) ofRoute(o *runs.Order) error {
	if o.Route == "" {
		return nil
	}
	cfg, err := c.loadForDatabase()
	if err != nil || len(cfg.Routes) == 0 {
		return err
	}
	i := slices.IndexFunc(cfg.Routes, func(r route.Route) bool { return r.Name == o.Route })
	if i < 0 {
		return misused("--route %q: the configuration has no such route", o.Route)
	}
	desk.Narrow(o, cfg.Routes[i])
	return nil
}

// forecast returns a Replay that predicts with the current routes. If they cannot be read, the
// Replay predicts nothing.
func (c *cli) forecast(o *outbox.Outbox, newKeys bool, only string) forecast.Replay {
	f := forecast.Replay{Outbox: o, NewKeys: newKeys, Route: only}
	if cfg, err := c.loadConfig(); err == nil {
		f.Table, _ = app.Routes(cfg) // the check command reports the problems
	}
	return f
}

func (c *cli) replayOne(ctx context.Context, o *outbox.Outbox, ref identity.EventRef, by ledger.Operator, opts inbox.ReplayOptions) error {
	came, known, err := c.forecast(o, opts.NewKeys, opts.Route).Of(ctx, ref)
	if err != nil {
		return err
	}
	done, err := o.Inbox().Replay(ctx, ref, by, opts)
	if err != nil {
		return c.orNoSuchEvent(err, ref)
	}
	if c.asJSON {
		return PrintJSON(c.Stdout, ReplayView{
			Action: ledger.ActionReplayEvent, Target: ref.String(), Generation: done.Generation, Selected: 1, Replayed: 1, Reopened: int64(done.Reopened),
		})
	}
	fmt.Fprintf(c.Stdout, "%s will be dispatched again, generation %d; %s will be tried again", safetext.Shown(ref.String()), done.Generation, counted(done.Reopened, "effect"))
	if known {
		fmt.Fprintf(c.Stdout, ", %s will be created with the current routes", counted(came.Created, "new effect"))
	}
	_, err = fmt.Fprintln(c.Stdout)
	return err
}

func inWords(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
