package cli

import (
	"errors"

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
		Long: `Erase the personal data of one event, or of all matching events: the body, the requests
that the event's effects sent, the responses and the errors. If the delivery contained
other events too, only this event's part is erased. The headers are erased with the
delivery's last remaining event. The event's id and outcome and the keys of its effects
are kept, so that a redelivery is recognised as a duplicate. The event is never
dispatched again, and its effects are never attempted again.

The command refuses events with unfinished work; --cancel cancels that work first.
Nothing is erased until --yes is given. Kept ids and keys may contain personal data: the
command prints ids and keys that contain the searched text, or an email address or
telephone number of the event.

With --yes a selection becomes a bulk run, which this command carries out in the order in
which the events were accepted. Events accepted after the run starts are left out. An
interrupt pauses the run, and 'hooklatch runs resume' continues it. With --detach, or if
the command is killed, workers carry out the run.

Backups still contain the data. Keep the list of erased events that this command prints,
and after a restore pass it to --again. --list prints the list of a run that other
processes continued. An erasure cannot be undone. docs/privacy.md says which data is
kept, where and for how long.

A time is a timestamp (2026-11-21T08:00:00Z), a date in UTC (2026-11-21), or a duration
before now, such as 36h.`,
		Example: "  " + c.Name + ` events erase stripe evt_123 --yes --reason "request 17 of the data protection officer"
  ` + c.Name + ` events erase --source stripe --when 'body.data.object.customer == "cus_42"'
  ` + c.Name + ` events erase --source stripe --when 'body.data.object.customer == "cus_42"' --cancel --yes >> erased.txt
  ` + c.Name + ` events erase --contains ada@example.com
  ` + c.Name + ` events erase --list 17 > erased.txt
  ` + c.Name + ` events erase --again erased.txt --yes`,
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
				return misused("an event, a selection by flags, --again and --list exclude each other")
			case list != 0 && (f.yes || cancel):
				return misused("--list only prints: omit --yes and --cancel")
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
	erase := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := erase(cmd, args)
		source, _ := cmd.Flags().GetString("source") // declared below
		if len(args) > 0 {
			source = args[0]
		}
		if _, misuse := errors.AsType[*usageError](err); !misuse && list == 0 {
			c.tellLeftOut(source)
		}
		return err
	}
	f.register(cmd, "erase ")
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "cancel the events' unfinished work, then erase the events")
	cmd.Flags().StringVar(&again, "again", "", "repeat the erasure of the events and effects in this `file`, the output of an earlier erasure; - is standard input")
	cmd.Flags().Int64Var(&list, "list", 0, "print the list of events that this `run` has erased")
	return cmd
}
