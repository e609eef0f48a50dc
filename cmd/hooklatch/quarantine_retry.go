package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/app"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

func (c *cli) newQuarantineRetry() *cobra.Command {
	var flags quarantineFlags
	var by operatorFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "retry [ID | FLAGS]",
		Short: "Verify refused deliveries again, and accept those that are genuine",
		Long: `Verify one refused delivery again, or all that the flags select, with the secrets
and settings of today, the oldest first. A signed time is compared with that of the
arrival. What is proven is accepted as if it had been sent again, and leaves the
quarantine; what is still refused stays there until it is 7 days old. Who ordered
it, when and why is recorded.

A selection is only counted until --yes is given.`,
		Example: "  " + c.name + ` quarantine retry --source stripe
  ` + c.name + ` quarantine retry --source stripe --refused-for wrong_signature --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := flags.selected(args)
			if err != nil {
				return err
			}
			return c.withQuarantine(cmd, func(o *outbox.Outbox, q *quarantine.Quarantine) error {
				shares, err := q.Count(cmd.Context(), filter)
				if err != nil {
					return err
				}
				if len(args) == 1 && len(shares) == 0 {
					return fmt.Errorf("there is no delivery %s in quarantine", args[0])
				}
				if !yes && len(args) == 0 {
					return c.printShares(shares, "retry")
				}
				return c.retryRefused(cmd.Context(), o, q, filter.UntilNow(shares), by.operator())
			})
		},
	}
	flags.register(cmd)
	by.register(cmd)
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "retry the selected deliveries; without it they are only counted")
	return cmd
}

// retriedView is what came of a retry, as --json prints it.
type retriedView struct {
	Action ledger.Action `json:"action"`

	quarantine.Retried
}

func (c *cli) retryRefused(ctx context.Context, o *outbox.Outbox, q *quarantine.Quarantine, f quarantine.Filter, by ledger.Operator) error {
	cfg, err := c.loadToRun()
	if err != nil {
		return err
	}
	verify, stop, err := app.NewVerifier(cfg, o)
	if err != nil {
		return err
	}
	came, err := q.Retry(ctx, f, by, verify)
	err = errors.Join(err, stop(context.WithoutCancel(ctx)))
	if c.asJSON {
		return errors.Join(err, printJSON(c.stdout, retriedView{quarantine.ActionRetry, came}))
	}
	fmt.Fprintf(c.stdout, "%s accepted, %d of them known already\n", refusedCount(came.Accepted+came.Duplicates), came.Duplicates)
	for _, reason := range slices.Sorted(maps.Keys(came.Refused)) {
		fmt.Fprintf(c.stdout, "%d still refused: %s\n", came.Refused[reason], reason)
	}
	return err
}
