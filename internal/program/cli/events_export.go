package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// export contains the flags of an export.
type export struct {
	cursor  string
	limit   int
	payload bool
}

// exported contains the fields that an export line adds to its event.
type exported struct {
	Cursor  find.Cursor     `json:"cursor"`
	Payload json.RawMessage `json:"payload,omitempty"`        // JSON as received
	Base64  []byte          `json:"payload_base64,omitempty"` // set if the payload is not JSON
}

func (c *cli) newEventsExport() *cobra.Command {
	var e export
	var selected *selection[find.Events]
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write events as lines of JSON, oldest first",
		Long: fmt.Sprintf(`Write events as lines of JSON, oldest first, for example for a data warehouse. Each line
contains a cursor. Pass the cursor of the last line to the next export as --cursor to
continue after it. Such a series of exports writes each event once, in its state at that
moment: an event that is dispatched later is not written again.

An event is written when it is older than %s. A transaction can commit up to that long
after its event was received, so newer events may still be missing and would be skipped.
With --payload each line also contains the event's payload: in payload if it is JSON,
otherwise in payload_base64.

A time is a timestamp (2026-11-21T08:00:00Z), a date in UTC (2026-11-21), or a duration
before now, such as 36h.`, find.Settled),
		Example: "  " + c.Name + ` events export --source stripe --payload > stripe.jsonl
  ` + c.Name + ` events export --source stripe --payload --cursor "$(tail -n 1 stripe.jsonl | jq -r .cursor)" >> stripe.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e.limit < 0 {
				return misused("--limit %d: it must be at least 1, or 0 for all events", e.limit)
			}
			filter, err := selected.filter()
			if err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				return c.export(cmd.Context(), o, filter, e)
			})
		},
	}
	selected = selectBy[find.Events](cmd, "only ", nil)
	cmd.Flags().StringVar(&e.cursor, "cursor", "", "continue after this `cursor`, from the last line of an earlier export")
	cmd.Flags().IntVar(&e.limit, "limit", 0, "write at most this many events (default all)")
	cmd.Flags().BoolVar(&e.payload, "payload", false, "also write the payload of each event")
	return cmd
}

// exportPage is the maximum number of events that an export reads at a time.
const exportPage = 500

func (c *cli) export(ctx context.Context, o *outbox.Outbox, filter find.Events, e export) error {
	written, at, unclear, bodiless := 0, find.Cursor(e.cursor), 0, 0
	for more := true; more && (e.limit == 0 || written < e.limit); {
		size := exportPage
		if e.limit > 0 {
			size = min(size, e.limit-written)
		}
		page, err := finder(o).EventsOnward(ctx, filter, at, size)
		if err != nil {
			return ofCursor(err)
		}
		if err := c.writeExport(ctx, o, page, e.payload); err != nil {
			return err
		}
		written += len(page.Rows)
		unclear, bodiless = unclear+page.Unclear, bodiless+page.Bodiless
		at, more = page.Next, page.More
	}
	fmt.Fprintf(c.Stderr, "%s written; continue with --cursor %s\n", counted(written, "event"), safetext.Shell(string(at)))
	if unclear+bodiless > 0 {
		fmt.Fprintf(c.Stderr, "%d left out: --when failed for %d; body no longer stored: %d\n", unclear+bodiless, unclear, bodiless)
	}
	return nil
}

// bodiesAtOnce is the maximum number of small bodies that an export reads at a time. Large bodies are
// read one by one.
const bodiesAtOnce = 50

func (c *cli) writeExport(ctx context.Context, o *outbox.Outbox, page find.Page[*inbox.Event], payload bool) error {
	var whole *inbox.WholeEvents
	for i, e := range page.Rows {
		if payload && i%bodiesAtOnce == 0 {
			var refs []identity.EventRef
			for _, next := range page.Rows[i:min(i+bodiesAtOnce, len(page.Rows))] {
				refs = append(refs, next.EventRef)
			}
			var err error
			if whole, err = o.Inbox().EventsWhole(ctx, refs); err != nil {
				return err
			}
		}
		line := exported{Cursor: page.Cursors[i]}
		var body *inbox.Event
		if payload {
			var err error
			if body, err = whole.Get(ctx, e.EventRef); err != nil {
				return err
			}
		}
		if body != nil && body.Body != nil {
			if own := body.Payload(); json.Valid(own) {
				line.Payload = own
			} else {
				line.Base64 = own
			}
		}
		if err := printLine(c.Stdout, plainjson.Joined{e, line}); err != nil {
			return err
		}
	}
	return nil
}
