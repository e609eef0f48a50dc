package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/outbox/safetext"
	"github.com/hooklatch/hooklatch/worker/route"
)

// replayStates are the states of events that can be replayed.
var replayStates = []inbox.Outcome{inbox.Dispatched, inbox.Skipped, inbox.Failed}

// replaySelection are the flags that select events to replay.
type replaySelection struct {
	eventSelection

	state, when, only string
}

func (s *replaySelection) register(cmd *cobra.Command) {
	s.eventSelection.register(cmd, "replay ")
	cmd.Flags().StringVar(&s.state, "state", "", "replay those in this `state`: dispatched, skipped or failed")
	cmd.Flags().StringVar(&s.when, "when", "", "replay those for which this CEL `expression` is true, as in a route")
	cmd.Flags().StringVar(&s.only, "route", "", "dispatch this `route` alone; what others made of the events stays")
}

func (s *replaySelection) empty() bool { return *s == replaySelection{} }

func (s *replaySelection) selection(now time.Time) (runs.EventSelection, error) {
	e := runs.EventSelection{Source: identity.Source(s.source), Type: s.eventType, When: s.when, Route: s.only}
	if s.empty() {
		return e, misused("name an event, or select events with --state, --route, --source, --type, --since, --until and --when")
	}
	var err error
	if e.State, err = oneOf("state", s.state, replayStates); err != nil {
		return e, err
	}
	if e.From, e.Until, err = s.times(now); err != nil {
		return e, err
	}
	if s.when != "" {
		if _, err = route.CompileCondition(s.when); err != nil {
			return e, misused("--when: %s", err)
		}
	}
	return e, nil
}

func (c *cli) newEventsReplay() *cobra.Command {
	var selected replaySelection
	var how runFlags
	var newKeys bool
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   "replay (SOURCE EVENT_ID | FLAGS)",
		Short: "Dispatch events once more, by the configuration of today",
		Long: `Dispatch one event once more, or all that the flags select, by the configuration
of today. Effects that succeeded stay; those that did not are tried again under
their old key. With --new-keys new effects are made under new keys, which
receivers apply again. With --route it is one route alone that is dispatched: what
others made of the events stays as it is. Every replay is recorded.

Without --yes the command counts and shows a selection. With --yes it becomes a
bulk run, which this command carries out in the order the events were accepted.
Events accepted meanwhile are left out, as are events for which --when fails. An
interrupt pauses the run, and runs resume continues it. With --detach, or when the
command is killed, the workers of the database continue it.

--state is that of the event: for effects that failed there is effects retry.
Times are like 2026-11-21T08:00:00Z or 2026-11-21, which is UTC, or a while ago
like 36h.`,
		Example: "  " + c.name + ` events replay stripe evt_123
  ` + c.name + ` events replay --state skipped --since 36h
  ` + c.name + ` events replay --state skipped --when 'body.data.object.amount_paid > 0' --yes
  ` + c.name + ` events replay --route erp-invoice --since 72h --new-keys
  ` + c.name + ` events replay --source stripe --type invoice.paid --since 2026-11-20 --until 2026-11-21 --rate 20 --yes`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				ref, err := eventRef(args)
				if selected != (replaySelection{only: selected.only}) || how.rate != 0 || how.detach || how.label != "" {
					err = misused("an event and a selection by flags exclude each other")
				}
				if err := cmp.Or(err, c.ofRoute(&runs.EventSelection{Route: selected.only})); err != nil {
					return err
				}
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
					return c.replayOne(cmd.Context(), o, ref, by.operator(), inbox.ReplayOptions{NewKeys: newKeys, Route: selected.only})
				})
			}
			events, err := selected.selection(time.Now())
			if err := cmp.Or(err, checkRate(how.rate, "events"), c.ofRoute(&events)); err != nil {
				return err
			}
			events.NewKeys = newKeys
			return c.carryOutMany(cmd.Context(), manyOrder{
				cli: c, runFlags: how, cmd: cmd, by: by.operator(), order: runs.Order{Action: ledger.ActionReplayEvent, Events: events},
			})
		},
	}
	selected.register(cmd)
	by.register(cmd)
	c.jsonFlag(cmd)
	how.register(cmd, "events")
	cmd.Flags().BoolVar(&newKeys, "new-keys", false, "make new effects under new keys: receivers apply them again")
	return cmd
}

// ofRoute wants the route of a selection to be one of the configuration, where there is
// one here, and selects what the route itself says of its events.
func (c *cli) ofRoute(events *runs.EventSelection) error {
	if events.Route == "" {
		return nil
	}
	cfg, err := c.loadForDatabase()
	if err != nil || len(cfg.Routes) == 0 {
		return err
	}
	i := slices.IndexFunc(cfg.Routes, func(r route.Route) bool { return r.Name == events.Route })
	if i < 0 {
		return misused("--route %q is no route of the configuration", events.Route)
	}
	r := cfg.Routes[i]
	if len(r.From) == 1 && r.From[0] != "*" {
		events.Source = cmp.Or(events.Source, identity.Source(r.From[0]))
	}
	if len(r.Types) == 1 {
		events.Type = cmp.Or(events.Type, r.Types[0])
	}
	return nil
}

// span is what --since and --until say.
type span struct{ since, until string }

func (s span) times(now time.Time) (from, until time.Time, err error) {
	if from, err = timeFlag("since", s.since, now); err != nil {
		return from, until, err
	}
	until, err = timeFlag("until", s.until, now)
	if err == nil && !from.IsZero() && !until.IsZero() && !from.Before(until) {
		err = misused("--since %s is not before --until %s", s.since, s.until)
	}
	return from, until, err
}

// eventSelection are the flags that select events, whatever is done to them.
type eventSelection struct {
	span

	source, eventType string
}

// register declares them; doing is what their help begins with: "replay ".
func (s *eventSelection) register(cmd *cobra.Command, doing string) {
	cmd.Flags().StringVar(&s.source, "source", "", doing+"those of this `source`")
	cmd.Flags().StringVar(&s.eventType, "type", "", doing+"those of this `type`")
	cmd.Flags().StringVar(&s.since, "since", "", doing+"those received at this `time` or later")
	cmd.Flags().StringVar(&s.until, "until", "", doing+"those received before this `time`")
}

// timeFlag reads a flag that is a point in time; empty is the zero time.
func timeFlag(flag, given string, now time.Time) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, given); err == nil {
			return at, nil
		}
	}
	if ago, err := time.ParseDuration(given); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, misused("--%s %q is no time: give one like 2026-11-21T08:00:00Z, 2026-11-21, or 36h for that long ago", flag, given)
}

func (c *cli) replayOne(ctx context.Context, o *outbox.Outbox, ref identity.EventRef, by ledger.Operator, opts inbox.ReplayOptions) error {
	forecast, known, err := c.forecaster(o, opts.NewKeys, opts.Route).of(ctx, ref)
	if err != nil {
		return err
	}
	done, err := o.Inbox().Replay(ctx, ref, by, opts)
	if err != nil {
		return orNoSuchEvent(err, ref)
	}
	if c.asJSON {
		return printJSON(c.stdout, replayView{
			Action: ledger.ActionReplayEvent, Target: ref.String(), Generation: done.Generation, Selected: 1, Replayed: 1, Reopened: int64(done.Reopened),
		})
	}
	fmt.Fprintf(c.stdout, "%s is dispatched again, generation %d; %s tried again", safetext.Shown(ref.String()), done.Generation, counted(done.Reopened, "effect"))
	if known {
		fmt.Fprintf(c.stdout, ", %s made by the routes of today", counted(forecast.fresh, "new one"))
	}
	_, err = fmt.Fprintln(c.stdout)
	return err
}

func inWords(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
