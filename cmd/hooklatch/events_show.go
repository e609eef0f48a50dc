package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/plainjson"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

func (c *cli) newEventsShow() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "show SOURCE EVENT_ID",
		Short: "Show one event, its effects and what happened when",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := eventRef(args)
			if err != nil {
				return err
			}
			if raw && c.asJSON {
				return misused("--raw and --json exclude each other")
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				e, err := o.Inbox().Event(cmd.Context(), ref)
				if err != nil {
					return orNoSuchEvent(err, ref)
				}
				if raw {
					return c.printBody(e)
				}
				return c.showEvent(cmd.Context(), o, e)
			})
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "write the exact bytes of the delivery's body, and nothing else")
	c.jsonFlag(cmd)
	return cmd
}

// printBody writes the body as it came (I1).
func (c *cli) printBody(e *inbox.Event) error {
	if e.Body == nil {
		return fmt.Errorf("the body of %s is no longer stored", e.EventRef)
	}
	_, err := c.stdout.Write(e.Body)
	return err
}

// eventEffects is what --json adds to an event that is shown alone.
type eventEffects struct {
	Effects []ledger.EventEffect `json:"effects,omitempty"`
}

func (c *cli) showEvent(ctx context.Context, o *outbox.Outbox, e *inbox.Event) error {
	links, err := o.Ledger().EffectsOfEvent(ctx, e.EventRef)
	if err != nil {
		return err
	}
	if c.asJSON {
		return printJSON(c.stdout, plainjson.Joined{e, eventEffects{links}})
	}
	effects, err := loadEffects(ctx, o, links)
	if err != nil {
		return err
	}
	replays, err := o.Inbox().EventReplays(ctx, e.EventRef)
	if err != nil {
		return err
	}
	c.printEvent(e)
	fmt.Fprintf(c.stdout, "\neffects\n")
	if len(effects) == 0 {
		fmt.Fprintf(c.stdout, "  none%s\n", whyNone(e))
	}
	for _, d := range effects {
		suppressed := ""
		if d.suppressed {
			suppressed = ", made by an earlier event with the same key"
		}
		fmt.Fprintf(c.stdout, "  %s  %s  %s, %s%s\n", d.IdempotencyKey, safetext.Shown(d.Destination), d.State, counted(d.Attempt, "attempt"), suppressed)
	}
	fmt.Fprintf(c.stdout, "\ntimeline\n")
	for _, m := range timelineOf(e, replays, effects) {
		fmt.Fprintf(c.stdout, "  %s  %s\n", shown(m.at), m.what)
	}
	return nil
}

func whyNone(e *inbox.Event) string {
	switch e.Outcome {
	case inbox.Skipped:
		return ": no route and no handler wanted it"
	case inbox.Received:
		return " yet: it waits for its dispatch"
	case inbox.Held:
		return " until a person decides: hooklatch events release, or hooklatch events drop"
	case inbox.Dropped:
		return ": a person decided against it"
	case inbox.Dispatched, inbox.Failed:
	}
	return ""
}

func (c *cli) printEvent(e *inbox.Event) {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.stdout, "%-12s  %s\n", name, safetext.Shown(value))
		}
	}
	field("event", e.EventRef.String())
	field("provider", e.Provider)
	field("type", strings.TrimSpace(e.Type+" "+e.APIVersion))
	field("state", string(e.Outcome))
	field("error", e.Error)
	if e.Generation > 1 {
		field("replayed", counted(e.Generation-1, "time"))
	}
	if e.RetryNumber > 0 {
		field("retry", strings.TrimSuffix(fmt.Sprintf("number %d of the provider, %s", e.RetryNumber, e.RetryReason), ", "))
	}
	if e.ReplaySuspect {
		field("suspect", "its proof came before under another id: it may be a captured delivery, sent again")
	}
	duplicates := strconv.FormatInt(e.Duplicates, 10)
	if e.BodyDiffers {
		duplicates += ", with another body"
	}
	field("duplicates", duplicates)
	if e.Body == nil {
		field("body", "no longer stored")
	} else {
		field("body", strings.TrimSuffix(fmt.Sprintf("%d bytes, %s", len(e.Body), e.ContentType), ", "))
	}
	field("item", e.Item)
	field("config", e.ConfigHash)
	field("acceptance", e.AcceptanceID.String())
}

// moment is one line of a timeline.
type moment struct {
	at   time.Time
	what string
}

// timelineOf is what happened to an event, in order.
func timelineOf(e *inbox.Event, replays []inbox.EventReplay, effects []effectDetail) []moment {
	var moments []moment
	add := func(at time.Time, format string, args ...any) {
		if !at.IsZero() {
			moments = append(moments, moment{at, fmt.Sprintf(format, args...)})
		}
	}
	add(e.OccurredAt, "occurred, by the clock of the provider")
	add(e.ReceivedAt, "received and committed")
	add(e.LastDuplicateAt, "last of %s", counted(int(e.Duplicates), "duplicate"))
	for _, r := range replays {
		add(r.PreviousAt, "%s%s", r.PreviousOutcome, reasonSuffix(safetext.Shown(r.PreviousError)))
		add(r.At, "%s", replayLine(r))
	}
	add(e.ProcessedAt, "%s", e.Outcome)
	for _, d := range effects {
		for _, a := range d.attempts {
			add(a.FinishedAt, "%s: %s", safetext.Shown(d.Destination), attemptLine(a))
		}
		for _, t := range d.transitions {
			if ordered(t) {
				add(t.At, "%s: %s", safetext.Shown(d.Destination), transitionLine(t))
			}
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return a.at.Compare(b.at) })
	return moments
}

// replayLine is a replay in a line.
func replayLine(r inbox.EventReplay) string {
	line := "replayed"
	if r.By != "" {
		line += " by " + safetext.Shown(r.By)
	}
	line += fmt.Sprintf(", generation %d", r.Generation)
	if r.NewKeys {
		line += ", with new keys"
	}
	return line + reasonSuffix(safetext.Shown(r.Reason))
}
