package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// decision is what a person decides about events that a replay guard holds.
type decision struct {
	name, short, long string
	done              string // of one event
	action            ledger.Action
	one               func(*inbox.Inbox, context.Context, identity.EventRef, ledger.Operator) error
}

func (c *cli) newEventsRelease() *cobra.Command {
	return c.newDecision(decision{
		name: "release", short: "Let events go on that a replay guard holds",
		long: `Let one event, or all that the flags select, go on to its dispatch although its
signature came before under another id or with another type. An event that was
dropped can be released as well, by its name.`,
		done:   "released: it waits for its dispatch",
		action: ledger.ActionReleaseEvent, one: (*inbox.Inbox).Release,
	})
}

func (c *cli) newEventsDrop() *cobra.Command {
	return c.newDecision(decision{
		name: "drop", short: "Decide that events which a replay guard holds have no effect",
		long: `Decide that one event, or all that the flags select, is a captured delivery sent
again and has no effect. Its row and its body stay.`,
		done:   "dropped: it has no effect",
		action: ledger.ActionDropEvent, one: (*inbox.Inbox).Drop,
	})
}

func (c *cli) newDecision(d decision) *cobra.Command {
	f := eventsFlags{action: d.action}
	cmd := &cobra.Command{
		Use:   d.name + " (SOURCE EVENT_ID | FLAGS)",
		Short: d.short,
		Long: d.long + ` Who decided, when and why is recorded.

Without --yes the command counts and shows a selection. With --yes it becomes a bulk
run, which this command carries out; runs pause, runs stop and runs resume are for it
as for any other. Times are like 2026-11-21T08:00:00Z or 2026-11-21, which is UTC, or
a while ago like 36h.`,
		Example: "  " + c.name + " events " + d.name + ` github 72d3162e-cc78-11e3-81ab-4c9367dc0958 --reason "asked the team"
  ` + c.name + " events " + d.name + " --source github --since 2h --yes",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if f.ofMany() {
					return misused("an event and a selection by flags exclude each other")
				}
				ref, err := eventRef(args)
				if err != nil {
					return err
				}
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
					return c.carryOut(cmd.Context(), o, d.of(ref), ref.String(), f.by.operator())
				})
			}
			if !f.selected.given() {
				return misused("name an event, or select events with %s", f.selected.names())
			}
			o, err := f.order()
			if err != nil {
				return err
			}
			return c.carryOutMany(cmd.Context(), manyOrder{cli: c, runFlags: f.runFlags, cmd: cmd, by: f.by.operator(), order: o})
		},
	}
	f.register(cmd, d.name+" ")
	c.jsonFlag(cmd)
	return cmd
}

// of is the decision about one event.
func (d decision) of(ref identity.EventRef) order {
	return order{
		action: d.action, done: d.done, unknown: func(string) error { return noSuchEvent(ref) },
		do: func(o *outbox.Outbox, ctx context.Context, _ string, by ledger.Operator) error {
			return d.one(o.Inbox(), ctx, ref, by)
		},
	}
}
