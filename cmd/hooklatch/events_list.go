package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/safetext"
)

// eventFlags select the events of a list.
type eventFlags struct {
	source, eventType, state, id string
	has                          []string
}

func (f *eventFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.source, "source", "", "only those of this `source`")
	cmd.Flags().StringVar(&f.eventType, "type", "", "only those of this `type`, like invoice.paid or invoice.*")
	cmd.Flags().StringVar(&f.state, "state", "", "only those in this `state`: received, dispatched, skipped, failed, held, dropped or imported")
}

// filter reads them with times and a condition.
func (f *eventFlags) filter(s span, match *find.Match, now time.Time) (find.EventFilter, error) {
	filter := find.EventFilter{Source: identity.Source(f.source), Type: f.eventType, EventID: identity.EventID(f.id), Match: match}
	var err error
	if filter.Outcome, err = oneOf("state", f.state, eventOutcomes); err != nil {
		return filter, err
	}
	if filter, err = filter.Having(f.has); err != nil {
		return filter, misused("--has: %s", err)
	}
	filter.Since, filter.Until, err = s.times(now)
	return filter, err
}

func (c *cli) newEventsList() *cobra.Command {
	var flags eventFlags
	var l list
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events, the newest first",
		Long: `List events, the newest first: those that the flags ask for, as far back as it takes
to find --limit of them. What is rare takes a while; an interrupt prints what was
found until then. Where there may be more, the command is printed that goes on.

--when reads bodies, as far as they are stored. Times are like
2026-11-21T08:00:00Z or 2026-11-21, which is UTC, or a while ago like 36h.`,
		Example: "  " + c.name + ` events list --state failed --since 36h
  ` + c.name + ` events list --source stripe --when 'body.data.object.customer == "cus_42"'
  ` + c.name + ` events list --type invoice.paid --follow`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			match, err := l.match()
			if err := errors.Join(err, l.check()); err != nil {
				return err
			}
			filter, err := flags.filter(l.span, match, time.Now())
			if err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				if l.follow {
					return follow(cmd.Context(), c, o.Finder().FollowEvents(filter), func(e *inbox.Event) string { return lineOf(eventCells(e)) })
				}
				found, err := pages(cmd.Context(), c, find.Cursor(l.cursor), l.limit,
					func(ctx context.Context, from find.Cursor, limit int) (find.Page[*inbox.Event], error) {
						return o.Finder().Events(ctx, filter, from, limit)
					})
				if err == nil || len(found.Rows) > 0 {
					err = errors.Join(err, c.printEvents(found.Rows))
				}
				printRest(c, cmd, found)
				return err
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().StringSliceVar(&flags.has, "has", nil, "only those with all of this: duplicates, differs, retry, suspect")
	cmd.Flags().StringVar(&flags.id, "id", "", "only those with this `id`, of any source")
	l.register(cmd, "received")
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) printEvents(events []*inbox.Event) error {
	header := []string{"RECEIVED", "SOURCE", "EVENT", "TYPE", "STATE", "DUPLICATES"}
	return printList(c, events, "no events", header, eventCells)
}

func eventCells(e *inbox.Event) []string {
	return []string{shown(e.ReceivedAt), string(e.Source), string(e.EventID), e.Type, string(e.Outcome), strconv.FormatInt(e.Duplicates, 10)}
}

// lineOf is a row of a table that nobody knows the widths of.
func lineOf(cells []string) string {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = safetext.Shown(cell)
	}
	return strings.Join(safe, "  ")
}
