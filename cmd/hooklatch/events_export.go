package main

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

// export are the flags of an export.
type export struct {
	cursor  string
	limit   int
	payload bool
}

// exported is what a line of an export adds to its event.
type exported struct {
	Cursor  find.Cursor     `json:"cursor"`
	Payload json.RawMessage `json:"payload,omitempty"`        // JSON as it came
	Base64  []byte          `json:"payload_base64,omitempty"` // of what is not JSON
}

func (c *cli) newEventsExport() *cobra.Command {
	var e export
	var selected *selection[find.Events]
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write events as lines of JSON, the oldest first",
		Long: fmt.Sprintf(`Write events as lines of JSON, the oldest first, for a warehouse. Each line has the
cursor that goes on behind it: keep that of the last line, and give it to the next
export as --cursor. From cursor to cursor each event is written once. Its state is
that of the moment: one that was not dispatched yet is not written again when it is.

Events are written once they are older than %s: until then one that was received
earlier may still be committed. With --payload each line has the event's own bytes,
as payload where they are JSON and as payload_base64 where not. Times are like
2026-11-21T08:00:00Z or 2026-11-21, which is UTC, or a while ago like 36h.`, find.Settled),
		Example: "  " + c.name + ` events export --source stripe --payload > stripe.jsonl
  ` + c.name + ` events export --source stripe --payload --cursor "$(tail -n 1 stripe.jsonl | jq -r .cursor)" >> stripe.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e.limit < 0 {
				return misused("--limit %d: it must be positive, or 0 for all", e.limit)
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
	cmd.Flags().StringVar(&e.cursor, "cursor", "", "go on behind this `place`: the cursor of the last line of an earlier export")
	cmd.Flags().IntVar(&e.limit, "limit", 0, "how many at most (default all)")
	cmd.Flags().BoolVar(&e.payload, "payload", false, "write the payload of each event, too")
	return cmd
}

// exportPage is how many events are written at once.
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
			return err
		}
		if err := c.writeExport(ctx, o, page, e.payload); err != nil {
			return err
		}
		written += len(page.Rows)
		unclear, bodiless = unclear+page.Unclear, bodiless+page.Bodiless
		at, more = page.Next, page.More
	}
	fmt.Fprintf(c.stderr, "%s written; go on with --cursor %s\n", counted(written, "event"), safetext.Shell(string(at)))
	if unclear+bodiless > 0 {
		fmt.Fprintf(c.stderr, "%d left out: --when failed for %d, and the bodies of %d are no longer stored\n", unclear+bodiless, unclear, bodiless)
	}
	return nil
}

// bodiesAtOnce bounds what is kept in memory of an export.
const bodiesAtOnce = 50

func (c *cli) writeExport(ctx context.Context, o *outbox.Outbox, page find.Page[*inbox.Event], payload bool) error {
	var whole map[identity.EventRef]*inbox.Event
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
		if body := whole[e.EventRef]; body != nil && body.Body != nil {
			if own := body.Payload(); json.Valid(own) {
				line.Payload = own
			} else {
				line.Base64 = own
			}
		}
		if err := printLine(c.stdout, plainjson.Joined{e, line}); err != nil {
			return err
		}
	}
	return nil
}
