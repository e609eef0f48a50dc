package cli

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

func (c *cli) newEventsList() *cobra.Command {
	var selected *selection[find.Events]
	var l list
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events, newest first",
		Long: `List the events that match the flags, newest first. The command searches back until it
has found --limit events. Rare matches take longer; an interrupt prints the events
found so far. If there may be more events, the output ends with the command that
continues the list.

--when and --contains only match events whose body is still stored. A time is a
timestamp (2026-11-21T08:00:00Z), a date in UTC (2026-11-21), or a duration before now,
such as 36h.`,
		Example: "  " + c.Name + ` events list --state failed --since 36h
  ` + c.Name + ` events list --source stripe --when 'body.data.object.customer == "cus_42"'
  ` + c.Name + ` events list --type invoice.paid --follow`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := selected.filter()
			if err := errors.Join(err, l.check(cmd, filter.Span)); err != nil {
				return err
			}
			read := c.showOutbox
			if l.follow { // a standby would show new rows later
				read = c.withOutbox
			}
			return read(cmd.Context(), func(o *outbox.Outbox) error {
				if l.follow {
					return follow(cmd.Context(), c, finder(o).FollowEvents(filter), func(e *inbox.Event) string { return lineOf(eventCells(e)) })
				}
				found, err := pages(cmd.Context(), c, find.Cursor(l.cursor), l.limit,
					func(ctx context.Context, from find.Cursor, limit int) (find.Page[*inbox.Event], error) {
						return finder(o).Events(ctx, filter, from, limit)
					})
				if err == nil || len(found.Rows) > 0 {
					err = errors.Join(err, c.printEvents(found.Rows))
				}
				printRest(c, cmd, found)
				return err
			})
		},
	}
	selected = selectBy[find.Events](cmd, "only ", nil)
	l.register(cmd)
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (c *cli) printEvents(events []*inbox.Event) error {
	header := []string{"RECEIVED", "SOURCE", "EVENT", "TYPE", "STATE", "EFFECTS", "DUPLICATES"}
	return printList(c, events, "no events", header, eventCells)
}

func eventCells(e *inbox.Event) []string {
	effects := "-"
	if e.EffectStates.Known() {
		effects = cmp.Or(e.EffectStates.String(), string(find.NoEffects))
	}
	return []string{shown(e.ReceivedAt), string(e.Source), string(e.EventID), e.Type, string(e.Outcome), effects, strconv.FormatInt(e.Duplicates, 10)}
}

// lineOf formats a row without aligned columns: --follow does not know the widths.
func lineOf(cells []string) string {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = safetext.Shown(cell)
	}
	return strings.Join(safe, "  ")
}
