package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// decision is what a person decides about events that a replay guard holds.
type decision struct {
	name, short, long string
	done              string // of one event
	doneMany          string // of several
	one               func(*inbox.Inbox, context.Context, identity.EventRef, ledger.Operator) error
	many              func(*inbox.Inbox, context.Context, inbox.HeldFilter, ledger.Operator) (int64, error)
}

func (c *cli) newEventsRelease() *cobra.Command {
	return c.newDecision(decision{
		name: "release", short: "Let events go on that a replay guard holds",
		long: `Let one event, or all that the flags select, go on to its dispatch although its
signature came before under another id or with another type. An event that was
dropped can be released as well, by its name.`,
		done: "is released: it waits for its dispatch", doneMany: "released",
		one: (*inbox.Inbox).Release, many: (*inbox.Inbox).ReleaseMany,
	})
}

func (c *cli) newEventsDrop() *cobra.Command {
	return c.newDecision(decision{
		name: "drop", short: "Decide that events which a replay guard holds have no effect",
		long: `Decide that one event, or all that the flags select, is a captured delivery sent
again and has no effect. Its row and its body stay.`,
		done: "is dropped: it has no effect", doneMany: "dropped",
		one: (*inbox.Inbox).Drop, many: (*inbox.Inbox).DropMany,
	})
}

// heldSelection are the flags that select held events.
type heldSelection struct{ eventSelection }

func (s *heldSelection) empty() bool { return *s == heldSelection{} }

func (s *heldSelection) filter(now time.Time) (inbox.HeldFilter, error) {
	from, until, err := s.times(now)
	return inbox.HeldFilter{Source: identity.Source(s.source), Type: s.eventType, From: from, Until: until}, err
}

func (c *cli) newDecision(d decision) *cobra.Command {
	var selected heldSelection
	var by operatorFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   d.name + " (SOURCE EVENT_ID | FLAGS)",
		Short: d.short,
		Long: d.long + ` Who decided, when and why is recorded.

A selection is only counted until --yes is given. Times are like
2026-11-21T08:00:00Z or 2026-11-21, which is UTC, or a while ago like 36h.`,
		Example: "  " + c.name + " events " + d.name + ` github 72d3162e-cc78-11e3-81ab-4c9367dc0958 --reason "asked the team"
  ` + c.name + " events " + d.name + " --source github --since 2h --yes",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if !selected.empty() {
					return misused("an event and a selection by flags exclude each other")
				}
				ref, err := eventRef(args)
				if err != nil {
					return err
				}
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
					return c.decideOne(cmd.Context(), o, d, ref, by.operator())
				})
			}
			if selected.empty() {
				return misused("name an event, or select events with --source, --type, --since and --until")
			}
			filter, err := selected.filter(time.Now())
			if err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				if !yes {
					return c.previewDecision(cmd.Context(), o, d, filter)
				}
				n, err := d.many(o.Inbox(), cmd.Context(), filter, by.operator())
				fmt.Fprintf(c.stdout, "%s %s\n", counted(int(n), "event"), d.doneMany)
				return err
			})
		},
	}
	selected.register(cmd, "")
	by.register(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, d.name+" the selected events; without it they are only counted")
	return cmd
}

func (c *cli) decideOne(ctx context.Context, o *outbox.Outbox, d decision, ref identity.EventRef, by ledger.Operator) error {
	err := d.one(o.Inbox(), ctx, ref, by)
	if err != nil {
		return orNoSuchEvent(err, ref)
	}
	_, err = fmt.Fprintf(c.stdout, "%s %s\n", safetext.Shown(ref.String()), d.done)
	return err
}

func (c *cli) previewDecision(ctx context.Context, o *outbox.Outbox, d decision, filter inbox.HeldFilter) error {
	n, err := o.Inbox().CountHeld(ctx, filter)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%s selected\n", counted(int(n), "held event"))
	if n > 0 {
		fmt.Fprintf(c.stdout, "%s them with the same command and --yes\n", d.name)
	}
	return nil
}
