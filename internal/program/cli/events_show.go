package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

func (c *cli) newEventsShow() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "show SOURCE EVENT_ID",
		Short: "Show one event with its effects and timeline",
		Long: `Show the full lifecycle of one event: its delivery, its duplicates, which routes match
and why others do not, its effects with every attempt and response, operator actions,
and a timeline.

The output shows the current routes, from the configuration that this command reads. If
the event was dispatched with other routes, the output says so.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := eventRef(args)
			if err != nil {
				return err
			}
			if raw && c.asJSON {
				return misused("--raw and --json exclude each other")
			}
			return c.showOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				e, err := o.Inbox().Recall(cmd.Context(), ref)
				if err != nil {
					return c.orNoSuchEvent(err, ref)
				}
				if raw {
					return c.printBody(e)
				}
				l, err := life.ReadEvent(cmd.Context(), o, e)
				if err != nil {
					return err
				}
				c.explainRoutes(cmd.Context(), l)
				if c.asJSON {
					return PrintJSON(c.Stdout, l.Data())
				}
				c.printLife(l)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "write only the exact bytes of the delivery's body")
	c.jsonFlag(cmd)
	return cmd
}

// printBody writes the body exactly as it was received (I1).
func (c *cli) printBody(e *inbox.Event) error {
	switch {
	case e.Body == nil:
		return fmt.Errorf("the body of %s is no longer stored", e.EventRef)
	case !e.ErasedAt.IsZero():
		return fmt.Errorf("%s was %s on %s", e.EventRef, e.Error, shown(e.ErasedAt))
	}
	_, err := c.Stdout.Write(e.Body)
	return err
}

func (c *cli) printEvent(e *inbox.Event) {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.Stdout, "%-12s  %s\n", name, safetext.Shown(value))
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
		field("retry", strings.TrimSuffix(fmt.Sprintf("number %d according to the sender, %s", e.RetryNumber, e.RetryReason), ", "))
	}
	if e.Origin == identity.Backfill {
		field("origin", strings.TrimSuffix("fetched from the provider's list (backfill), "+e.Altered, ", "))
	}
	if e.ReplaySuspect {
		field("suspect", "its signature was used before under another id: this may be a captured delivery that was replayed")
	}
	duplicates := strconv.FormatInt(e.Duplicates, 10)
	if e.BodyDiffers {
		duplicates += ", with another body"
	}
	field("duplicates", duplicates)
	switch {
	case e.Outcome == inbox.Imported:
		field("body", "never received here: another cell or another system accepted the event, and its key was imported")
	case !e.ErasedAt.IsZero():
		field("body", e.Error+" on "+shown(e.ErasedAt))
	case e.Body == nil:
		field("body", "no longer stored")
	default:
		field("body", strings.TrimSuffix(fmt.Sprintf("%d bytes, %s", len(e.Body), e.ContentType), ", "))
	}
	if e.ExportedDay != "" {
		field("read from", "the export of "+e.ExportedDay)
	}
	if !e.RedactedAt.IsZero() {
		field("redacted", "on "+shown(e.RedactedAt)+": the body was changed, so the event cannot be replayed")
	}
	field("item", e.Item)
	field("config", e.ConfigHash)
	field("acceptance", e.AcceptanceID.String())
	if e.DeliveryID != uuid.Nil {
		field("delivery", e.DeliveryID.String())
	}
	field("trace", life.TraceOf(e))
}
