package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *cli) newAudit() *cobra.Command {
	var selected *selection[find.Actions]
	var cursor string
	var limit int
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List operator actions, newest first",
		Long: `List operator actions, newest first: retries, cancellations, replays, pauses, erasures
and others. Each entry has an operator, time, reason and result. It is written in the
same transaction as the action.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := selected.filter()
			if err := errors.Join(err, checkLimit(limit)); err != nil {
				return err
			}
			return c.showOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				found, err := pages(cmd.Context(), c, find.Cursor(cursor), limit,
					func(ctx context.Context, from find.Cursor, limit int) (find.Page[ledger.OperatorAction], error) {
						return o.Finder().Actions(ctx, filter, from, limit)
					})
				if err == nil || len(found.Rows) > 0 {
					err = errors.Join(err, c.printActions(found.Rows))
				}
				printRest(c, cmd, found)
				return err
			})
		},
	}
	c.database.register(cmd.Flags())
	selected = selectBy[find.Actions](cmd, "only ", nil)
	cmd.Flags().StringVar(&cursor, "cursor", "", "continue from this `cursor`, which an earlier list printed")
	limitFlag(cmd, &limit)
	c.jsonFlag(cmd)
	return c.inAllCells(cmd)
}

func (c *cli) printActions(actions []ledger.OperatorAction) error {
	header := []string{"AT", "REQUESTED BY", "VIA", "ACTION", "TARGET", "AFFECTED", "RESULT", "REASON"}
	return printList(c, actions, "no operator actions", header, func(a ledger.OperatorAction) []string {
		return []string{shown(a.At), a.Who, a.Via, string(a.Action), a.Target, strconv.FormatInt(a.Affected, 10), a.Result, a.Reason}
	})
}
