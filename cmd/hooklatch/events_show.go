package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

func (c *cli) newEventsShow() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "show SOURCE EVENT_ID",
		Short: "Show one event, its effects and what happened when",
		Long: `Show the whole life of one event: the delivery it came in, its duplicates, which
routes want it and why others do not, its effects with every attempt and answer,
what people ordered, and what happened when.

The routes are those of the configuration that is there now: the event may have been
dispatched by another, which is said.`,
		Args: cobra.RangeArgs(1, 2),
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
				l, err := c.lifeOf(cmd.Context(), o, e)
				if err != nil {
					return err
				}
				if c.asJSON {
					return printJSON(c.stdout, l.view())
				}
				c.printLife(l)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "write the exact bytes of the delivery's body, and nothing else")
	c.jsonFlag(cmd)
	return cmd
}

// printBody writes the body as it came (I1).
func (c *cli) printBody(e *inbox.Event) error {
	switch {
	case e.Body == nil:
		return fmt.Errorf("the body of %s is no longer stored", e.EventRef)
	case !e.ErasedAt.IsZero():
		return fmt.Errorf("%s was %s on %s", e.EventRef, e.Error, shown(e.ErasedAt))
	}
	_, err := c.stdout.Write(e.Body)
	return err
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
	case inbox.Imported:
		return ": another system accepted it"
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
	if e.ErasedAt.IsZero() {
		field("error", e.Error)
	}
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
	switch {
	case e.Outcome == inbox.Imported:
		field("body", "never seen: another system accepted the event, and its key was imported")
	case !e.ErasedAt.IsZero():
		field("body", e.Error+" on "+shown(e.ErasedAt))
	case e.Body == nil:
		field("body", "no longer stored")
	default:
		field("body", strings.TrimSuffix(fmt.Sprintf("%d bytes, %s", len(e.Body), e.ContentType), ", "))
	}
	if !e.RedactedAt.IsZero() {
		field("redacted", "on "+shown(e.RedactedAt)+": it is not as it came, and is not replayed")
	}
	field("item", e.Item)
	field("config", e.ConfigHash)
	field("acceptance", e.AcceptanceID.String())
	if e.DeliveryID != uuid.Nil {
		field("delivery", e.DeliveryID.String())
	}
	field("trace", traceOf(e))
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
	if e.Outcome == inbox.Imported {
		add(e.ReceivedAt, "received by another system")
	} else {
		add(e.ReceivedAt, "received and committed")
	}
	for i, at := range e.DuplicateTimes {
		add(at, "duplicate %d of %d", int(e.Duplicates)-len(e.DuplicateTimes)+i+1, e.Duplicates)
	}
	if len(e.DuplicateTimes) == 0 { // of an older version
		add(e.LastDuplicateAt, "last of %s", counted(int(e.Duplicates), "duplicate"))
	}
	for _, r := range replays {
		add(r.PreviousAt, "%s%s", r.PreviousOutcome, reasonSuffix(safetext.Shown(r.PreviousError)))
		add(r.At, "%s", replayLine(r))
	}
	add(e.ProcessedAt, "%s", e.Outcome)
	add(e.RedactedAt, "redacted, as its source says")
	add(e.ErasedAt, "%s", safetext.Shown(e.Error))
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
