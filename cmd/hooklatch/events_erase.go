package main

import (
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/erasure"
)

func (c *cli) newEventsErase() *cobra.Command {
	f := eventsFlags{action: erasure.ActionEraseEvent}
	var cancel bool
	var again string
	var list int64
	cmd := &cobra.Command{
		Use:   "erase (SOURCE EVENT_ID | FLAGS)",
		Short: desk.By(erasure.ActionEraseEvent).Short,
		Long: `Take away what one event said, or all that the flags select: its body, what its
effects sent, what was answered and what failed. Of a body that other events came in
too, its own part goes; the headers go with the last of them. Its id, the keys of its
effects and its outcome stay, so that it is a duplicate when it comes again. It is
never dispatched again, and its effects are never tried again.

What is unfinished is refused: --cancel gives it up first. Nothing is done until --yes
is given. Ids and keys that stay although they have in them what was looked for, or a
mail address or telephone number of the event, are printed.

With --yes a selection becomes a bulk run, which this command carries out in the order
the events were accepted. Events accepted meanwhile are left out. An interrupt pauses
the run, and runs resume continues it. With --detach, or when the command is killed,
the workers of the database continue it.

Backups have it still: keep the list of what was erased, which this prints, and after a
restore give it to --again. The list of a run that others continued is printed by --list.
An erasure cannot be undone. docs/privacy.md says what is left where, and for how long.
Times are like 2026-11-21T08:00:00Z or 2026-11-21, which is UTC, or a while ago like
36h.`,
		Example: "  " + c.name + ` events erase stripe evt_123 --yes --reason "request 17 of the data protection officer"
  ` + c.name + ` events erase --source stripe --when 'body.data.object.customer == "cus_42"'
  ` + c.name + ` events erase --source stripe --when 'body.data.object.customer == "cus_42"' --cancel --yes >> erased.txt
  ` + c.name + ` events erase --contains ada@example.com
  ` + c.name + ` events erase --list 17 > erased.txt
  ` + c.name + ` events erase --again erased.txt --yes`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, e := cmd.Context(), eraser{cli: c, by: f.by.operator(), cancel: cancel}
			e.by.RequestID = uuid.NewString()
			ways := 0
			for _, given := range []bool{len(args) > 0, f.ofMany(), again != "", list != 0} {
				if given {
					ways++
				}
			}
			switch {
			case ways > 1:
				return misused("an event, a selection by flags, a list to erase again and the list of a run exclude each other")
			case len(args) > 0:
				ref, err := eventRef(args)
				if err != nil {
					return err
				}
				return c.withOutbox(ctx, func(o *outbox.Outbox) error { return e.one(ctx, o, ref, f.yes) })
			case again != "":
				return c.withOutbox(ctx, func(o *outbox.Outbox) error { return e.again(ctx, o, again, f.yes) })
			case list != 0:
				return c.withOutbox(ctx, func(o *outbox.Outbox) error { return e.list(ctx, o, list) })
			case !f.selected.given():
				return misused("name an event, or select events with %s", f.selected.names())
			}
			o, err := f.order()
			if err != nil {
				return err
			}
			o.Cancel = cancel
			m := manyOrder{cli: c, runFlags: f.runFlags, cmd: cmd, by: e.by, order: o}
			if f.yes && !f.detach {
				return c.withOutbox(ctx, func(o *outbox.Outbox) error { return e.many(ctx, o, m) })
			}
			return c.carryOutMany(ctx, m)
		},
	}
	f.register(cmd, "erase ")
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "give up what is unfinished of them, and erase it too")
	cmd.Flags().StringVar(&again, "again", "", "erase once more what this `file` lists, as an earlier erasure printed it; - is standard input")
	cmd.Flags().Int64Var(&list, "list", 0, "print the list of what this `run` has erased")
	return cmd
}
