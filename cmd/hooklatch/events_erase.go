package main

import (
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
)

// eraseOrder is how a selection is erased, with the selection as the operator log keeps it:
// what it looked for is hashed, with the id of the order, so that somebody who has the text
// can see that it was meant.
func eraseOrder(asked find.Events, cancel bool, requestID string) erasure.Order {
	order := erasure.Order{Cancel: cancel}
	asked.Content, order.Searched = asked.Content.Concealed(requestID)
	order.Filter = asked
	return order
}

func (c *cli) newEventsErase() *cobra.Command {
	var selected *selection[find.Events]
	var by operatorFlags
	var cancel, yes bool
	var again string
	cmd := &cobra.Command{
		Use:   "erase (SOURCE EVENT_ID | FLAGS)",
		Short: "Take away what events said: bodies, headers, requests, answers and errors",
		Long: `Take away what one event said, or all that the flags select: its body, what its
effects sent, what was answered and what failed. Of a body that other events came in
too, its own part goes; the headers go with the last of them. Its id, the keys of its
effects and its outcome stay, so that it is a duplicate when it comes again. It is
never dispatched again, and its effects are never tried again.

What is unfinished is refused: --cancel gives it up first. Nothing is done until --yes
is given. Ids and keys that stay although they have in them what was looked for, or a
mail address or telephone number of the event, are printed.

Backups have it still: keep the list of what was erased, which this prints, and after a
restore give it to --again. It is never taken back. docs/privacy.md says what is left
where, and for how long. Times are like 2026-11-21T08:00:00Z or 2026-11-21, which is
UTC, or a while ago like 36h.`,
		Example: "  " + c.name + ` events erase stripe evt_123 --yes --reason "request 17 of the data protection officer"
  ` + c.name + ` events erase --source stripe --when 'body.data.object.customer == "cus_42"'
  ` + c.name + ` events erase --source stripe --when 'body.data.object.customer == "cus_42"' --cancel --yes >> erased.txt
  ` + c.name + ` events erase --contains ada@example.com
  ` + c.name + ` events erase --again erased.txt --yes`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := eraseRun{cli: c, by: by.operator(), cancel: cancel}
			run.by.RequestID = uuid.NewString()
			named := len(args) > 0
			switch {
			case named && (selected.given() || again != ""), again != "" && selected.given():
				return misused("an event, a selection by flags and a list to erase again exclude each other")
			case named:
				ref, err := eventRef(args)
				if err != nil {
					return err
				}
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error { return run.one(cmd.Context(), o, ref, yes) })
			case again != "":
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error { return run.again(cmd.Context(), o, again, yes) })
			}
			if !selected.given() {
				return misused("name an event, or select events with %s", selected.names())
			}
			asked, err := selected.filter()
			if err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				if !yes {
					return run.preview(cmd.Context(), o, asked)
				}
				return run.many(cmd.Context(), o, asked, eraseOrder(asked, cancel, run.by.RequestID))
			})
		},
	}
	selected = selectBy[find.Events](cmd, "erase ", nil)
	by.register(cmd)
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "give up what is unfinished of them, and erase it too")
	cmd.Flags().StringVar(&again, "again", "", "erase once more what this `file` lists, as an earlier erasure printed it; - is standard input")
	cmd.Flags().BoolVar(&yes, "yes", false, "erase; without it the events are only counted")
	return cmd
}
