package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/app"
	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// retryPage is how many refused deliveries are in memory at once.
const retryPage = 50

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
				return c.retryRefused(cmd.Context(), o, q, untilNow(filter, shares), by.operator())
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
	Action     ledger.Action    `json:"action"`
	Accepted   int64            `json:"accepted"`   // deliveries with an event that was new
	Duplicates int64            `json:"duplicates"` // deliveries whose events were all known
	Refused    map[string]int64 `json:"refused"`    // deliveries that are still refused, by reason
}

func (c *cli) retryRefused(ctx context.Context, o *outbox.Outbox, q *quarantine.Quarantine, f quarantine.Filter, by ledger.Operator) error {
	cfg, err := c.loadToRun()
	if err != nil {
		return err
	}
	verifier, err := app.NewVerifier(cfg, o)
	if err != nil {
		return err
	}
	by.RequestID = uuid.NewString() // one order
	view := retriedView{Action: quarantine.ActionRetry, Refused: make(map[string]int64)}
	err = view.retry(ctx, verifier, q, f, by)
	err = errors.Join(err, verifier.Stop(context.WithoutCancel(ctx)))
	if c.asJSON {
		return errors.Join(err, printJSON(c.stdout, view))
	}
	fmt.Fprintf(c.stdout, "%s accepted, %d of them known already\n", refusedCount(view.Accepted+view.Duplicates), view.Duplicates)
	for _, reason := range slices.Sorted(maps.Keys(view.Refused)) {
		fmt.Fprintf(c.stdout, "%d still refused: %s\n", view.Refused[reason], reason)
	}
	return err
}

// retry goes through what f selects, page by page. What was accepted is taken out
// after it, so that after a crash it is verified once more, and a duplicate.
func (v *retriedView) retry(ctx context.Context, verifier *gateway.Gateway, q *quarantine.Quarantine, f quarantine.Filter, by ledger.Operator) error {
	var after quarantine.Mark
	for part := 1; ctx.Err() == nil; part++ {
		page, err := q.Next(ctx, f, after, retryPage)
		if err != nil || len(page) == 0 {
			return err
		}
		var accepted []uuid.UUID
		for i := range page {
			after = page[i].Mark()
			came, err := verifier.AcceptAgain(ctx, &page[i])
			if refused, is := errors.AsType[*gateway.RefusedError](err); is && !refused.Ours {
				v.Refused[refused.Reason]++
				continue
			}
			if err != nil {
				return errors.Join(err, takeOut(ctx, q, accepted, part, f, by))
			}
			accepted = append(accepted, page[i].ID)
			if came.New()+came.Held() > 0 {
				v.Accepted++
			} else {
				v.Duplicates++
			}
		}
		if err := takeOut(ctx, q, accepted, part, f, by); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func takeOut(ctx context.Context, q *quarantine.Quarantine, accepted []uuid.UUID, part int, f quarantine.Filter, by ledger.Operator) error {
	if len(accepted) == 0 {
		return nil
	}
	return q.Accepted(ctx, accepted, part, f, by)
}
