package cli

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *cli) newEffectsList() *cobra.Command {
	var selected *selection[find.Effects]
	var l list
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List effects, newest first",
		Long: `List the effects that match the flags, newest first. The command searches back until
it has found --limit effects. Rare matches take longer; an interrupt prints the
effects found so far. If there may be more effects, the output ends with the command
that continues the list.

--when and --contains check the effect's event, and only match while the event's body
is stored. A time is a timestamp (2026-11-21T08:00:00Z), a date in UTC (2026-11-21), or
a duration before now, such as 36h.`,
		Example: "  " + c.Name + ` effects list --state parked --destination crm
  ` + c.Name + ` effects list --event stripe/evt_123`,
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
					return follow(cmd.Context(), c, finder(o).FollowEffects(filter), func(e ledger.Effect) string { return lineOf(effectCells(e)) })
				}
				found, err := pages(cmd.Context(), c, find.Cursor(l.cursor), l.limit,
					func(ctx context.Context, from find.Cursor, limit int) (find.Page[ledger.Effect], error) {
						return finder(o).Effects(ctx, filter, from, limit)
					})
				if err == nil || len(found.Rows) > 0 {
					err = errors.Join(err, c.printEffects(found.Rows))
				}
				printRest(c, cmd, found)
				return err
			})
		},
	}
	selected = selectBy[find.Effects](cmd, "only ", nil)
	l.register(cmd)
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (c *cli) printEffects(effects []ledger.Effect) error {
	header := []string{"CREATED", "EFFECT", "ROUTE", "DESTINATION", "EVENT", "TYPE", "STATE", "ATTEMPTS", "LAST RESULT"}
	return printList(c, effects, "no effects", header, effectCells)
}

func effectCells(e ledger.Effect) []string {
	return []string{shown(e.CreatedAt), e.IdempotencyKey, cmp.Or(e.Route, "-"), e.Destination, causeOf(e.Event), cmp.Or(e.EventType, "-"), string(e.State), strconv.Itoa(e.Attempt), lastOf(e)}
}

// causeOf returns the event that caused an effect, or a dash.
func causeOf(event identity.EventRef) string {
	if event == (identity.EventRef{}) {
		return "-"
	}
	return event.String()
}

// lastOf returns the last attempt's status or error, or a dash.
func lastOf(e ledger.Effect) string {
	switch {
	case e.ResponseStatus != 0:
		return strconv.Itoa(e.ResponseStatus)
	case e.Error != "":
		return e.Error
	}
	return "-"
}
