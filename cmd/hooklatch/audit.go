package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func (c *cli) newAudit() *cobra.Command {
	var limit int
	var since string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List what people ordered, the newest first",
		Long: `List what people ordered, the newest first: retries, cancellations, parked effects,
replays, pauses and erasures, each with who ordered it, when, why, and what came of it. Each
was recorded in the transaction that did it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := timeFlag("since", since, time.Now())
			if err != nil {
				return err
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				actions, err := o.Ledger().OperatorLog(cmd.Context(), from, limit)
				if err != nil {
					return err
				}
				return c.printActions(actions)
			})
		},
	}
	c.database.register(cmd.Flags())
	cmd.Flags().StringVar(&since, "since", "", "only what was ordered at this `time` or later, like 2026-11-21 or 36h")
	limitFlag(cmd, &limit)
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) printActions(actions []ledger.OperatorAction) error {
	header := []string{"AT", "WHO", "VIA", "ACTION", "TARGET", "AFFECTED", "RESULT", "REASON"}
	return printList(c, actions, "nothing was ordered", header, func(a ledger.OperatorAction) []string {
		return []string{shown(a.At), a.Who, a.Via, string(a.Action), a.Target, strconv.FormatInt(a.Affected, 10), a.Result, a.Reason}
	})
}
