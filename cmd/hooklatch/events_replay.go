package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/safetext"
	"github.com/hooklatch/hooklatch/worker/route"
)

// replayStates are the states of events that can be replayed.
var replayStates = []inbox.Outcome{inbox.Dispatched, inbox.Skipped, inbox.Failed}

// replaySelection are the flags that select events to replay.
type replaySelection struct {
	eventSelection

	state, when string
}

func (s *replaySelection) register(cmd *cobra.Command) {
	s.eventSelection.register(cmd, "replay ")
	cmd.Flags().StringVar(&s.state, "state", "", "replay those in this `state`: dispatched, skipped or failed")
	cmd.Flags().StringVar(&s.when, "when", "", "replay those for which this CEL `expression` is true, as in a route")
}

func (s *replaySelection) empty() bool { return *s == replaySelection{} }

func (s *replaySelection) filter(now time.Time) (inbox.ReplayFilter, error) {
	f := inbox.ReplayFilter{Source: identity.Source(s.source), Type: s.eventType}
	if s.empty() {
		return f, misused("name an event, or select events with --state, --source, --type, --since, --until and --when")
	}
	var err error
	if f.State, err = oneOf("state", s.state, replayStates); err != nil {
		return f, err
	}
	if f.From, f.Until, err = s.times(now); err != nil {
		return f, err
	}
	if s.when != "" {
		if f.Match, err = route.CompileCondition(s.when); err != nil {
			return f, misused("--when: %s", err)
		}
	}
	return f, nil
}

func (c *cli) newEventsReplay() *cobra.Command {
	var selected replaySelection
	var rate float64
	var newKeys, yes bool
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   "replay (SOURCE EVENT_ID | FLAGS)",
		Short: "Dispatch events once more, by the configuration of today",
		Long: `Dispatch one event once more, or all that the flags select, by the configuration
of today. Effects that succeeded stay; those that did not are tried again under
their old key. With --new-keys new effects are made under new keys, which
receivers apply again. Every replay is recorded.

A selection is only counted and shown until --yes is given. It is replayed in the
order the events were accepted, and what is accepted meanwhile is left out, as are
events for which --when fails. An interrupt ends it; what was replayed by then
stays replayed. --state is that of the event: for effects that failed there is
effects retry. Times are like
2026-11-21T08:00:00Z or 2026-11-21, which is UTC, or a while ago like 36h.`,
		Example: "  " + c.name + ` events replay stripe evt_123
  ` + c.name + ` events replay --state skipped --since 36h
  ` + c.name + ` events replay --state skipped --when 'body.data.object.amount_paid > 0' --yes
  ` + c.name + ` events replay --source stripe --type invoice.paid --since 2026-11-20 --until 2026-11-21 --rate 20 --yes`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts := inbox.ReplayOptions{NewKeys: newKeys}
			if len(args) > 0 {
				ref, err := eventRef(args)
				if !selected.empty() || rate != 0 {
					err = misused("an event and a selection by flags exclude each other")
				}
				if err != nil {
					return err
				}
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
					return c.replayOne(cmd.Context(), o, ref, by.operator(), opts)
				})
			}
			filter, err := selected.filter(time.Now())
			if err := cmp.Or(err, checkRate(rate, "events")); err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				if !yes {
					return c.previewReplay(cmd.Context(), o, filter)
				}
				return c.replayMany(cmd.Context(), o, filter, by.operator(), opts, rate)
			})
		},
	}
	selected.register(cmd)
	by.register(cmd)
	c.jsonFlag(cmd)
	cmd.Flags().Float64Var(&rate, "rate", 0, "replay at most this many `events` of the selection in a second (default no limit)")
	cmd.Flags().BoolVar(&newKeys, "new-keys", false, "make new effects under new keys: receivers apply them again")
	cmd.Flags().BoolVar(&yes, "yes", false, "replay the selected events; without it they are only counted")
	return cmd
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

// replayView is a replay as --json prints it.
type replayView struct {
	Action     ledger.Action `json:"action"`
	Target     string        `json:"target,omitempty"`     // the event, unless many were selected
	Generation int           `json:"generation,omitempty"` // of the event
	Preview    bool          `json:"preview"`              // nothing was done
	Selected   int64         `json:"selected"`
	Replayed   int64         `json:"replayed"`
	Reopened   int64         `json:"reopened"` // effects that are tried again
	Unclear    int64         `json:"unclear"`  // left out: --when failed for them
	WhyUnclear string        `json:"why_unclear,omitempty"`
	Stopped    bool          `json:"stopped"`
	Sample     []string      `json:"sample,omitempty"`
}

func (c *cli) replayOne(ctx context.Context, o *outbox.Outbox, ref identity.EventRef, by ledger.Operator, opts inbox.ReplayOptions) error {
	done, err := o.Inbox().Replay(ctx, ref, by, opts)
	if err != nil {
		return orNoSuchEvent(err, ref)
	}
	if c.asJSON {
		return printJSON(c.stdout, replayView{
			Action: ledger.ActionReplayEvent, Target: ref.String(), Generation: done.Generation, Selected: 1, Replayed: 1, Reopened: int64(done.Reopened),
		})
	}
	_, err = fmt.Fprintf(c.stdout, "%s is dispatched again, generation %d; %s tried again\n", safetext.Shown(ref.String()), done.Generation, counted(done.Reopened, "effect"))
	return err
}

func (c *cli) previewReplay(ctx context.Context, o *outbox.Outbox, filter inbox.ReplayFilter) error {
	progress := c.eachSecond()
	v, err := o.Inbox().PreviewReplay(ctx, filter, func(seen, total int64) { progress("%d of %d looked at\n", seen, total) })
	if err != nil {
		return err
	}
	if c.asJSON {
		view := replayView{Action: ledger.ActionReplayEvent, Preview: true, Selected: v.Selected, Unclear: v.Unclear, WhyUnclear: inWords(v.WhyUnclear)}
		for _, e := range v.Sample {
			view.Sample = append(view.Sample, e.String())
		}
		return printJSON(c.stdout, view)
	}
	fmt.Fprintf(c.stdout, "%s selected\n", counted(int(v.Selected), "event"))
	c.printUnclear(v.Unclear, v.WhyUnclear)
	if v.Selected == 0 {
		return nil
	}
	fmt.Fprintln(c.stdout)
	t := newTable(c.stdout, "RECEIVED", "EVENT", "TYPE", "STATE")
	for _, e := range v.Sample {
		t.row(shown(e.ReceivedAt), e.String(), e.Type, string(e.Outcome))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if more := v.Selected - int64(len(v.Sample)); more > 0 {
		fmt.Fprintf(c.stdout, "and %d more\n", more)
	}
	_, err = fmt.Fprintln(c.stdout, "\nreplay them with the same command and --yes")
	return err
}

func (c *cli) printUnclear(n int64, why error) {
	if n > 0 {
		fmt.Fprintf(c.stdout, "%d more left out: --when failed for them; the first time: %s\n", n, safetext.Shown(inWords(why)))
	}
}

func inWords(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// replayMany says how far it came, also when it was interrupted or failed.
func (c *cli) replayMany(ctx context.Context, o *outbox.Outbox, filter inbox.ReplayFilter, by ledger.Operator, opts inbox.ReplayOptions, rate float64) error {
	progress := c.eachSecond()
	done, err := o.Inbox().ReplayMany(ctx, filter, by, opts, inbox.ReplayPace{PerSecond: rate, Progress: func(at inbox.ReplayProgress) {
		progress("%d of %d, the last was %s\n", at.Seen, at.Total, safetext.Shown(at.Last.String()))
	}})
	if c.asJSON {
		return errors.Join(err, printJSON(c.stdout, replayView{
			Action: ledger.ActionReplayEvent, Selected: done.Total, Replayed: done.Replayed, Reopened: done.Reopened,
			Unclear: done.Unclear, WhyUnclear: inWords(done.WhyUnclear), Stopped: err != nil,
		}))
	}
	fmt.Fprintf(c.stdout, "%s replayed, %s tried again\n", counted(int(done.Replayed), "event"), counted(int(done.Reopened), "effect"))
	c.printUnclear(done.Unclear, done.WhyUnclear)
	if err != nil && done.Seen < done.Total {
		fmt.Fprintf(c.stderr, "stopped after %d of %d\n", done.Seen, done.Total)
	}
	return err
}
