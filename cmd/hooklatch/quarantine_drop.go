package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// droppedView is what came of a drop, as --json prints it.
type droppedView struct {
	Action  ledger.Action `json:"action"`
	Dropped int64         `json:"dropped"`
}

func (c *cli) newQuarantineDrop() *cobra.Command {
	var flags quarantineFlags
	var by operatorFlags
	var yes bool
	cmd := &cobra.Command{
		Use:   "drop [ID | FLAGS]",
		Short: "Delete refused deliveries for good",
		Long: `Delete one refused delivery, or all that the flags select. Who ordered it, when and
why is recorded.

A selection is only counted until --yes is given.`,
		Example: "  " + c.name + ` quarantine drop --source stripe --refused-for missing_signature --yes --reason "a scanner"`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := flags.selected(args)
			if err != nil {
				return err
			}
			return c.withQuarantine(cmd, func(_ *outbox.Outbox, q *quarantine.Quarantine) error {
				shares, err := q.Count(cmd.Context(), filter)
				if err != nil {
					return err
				}
				switch {
				case len(args) == 1 && len(shares) == 0:
					return fmt.Errorf("there is no delivery %s in quarantine", args[0])
				case !yes && len(args) == 0:
					return c.printShares(shares, "drop")
				}
				dropped, err := q.Drop(cmd.Context(), filter.UntilNow(shares), by.operator())
				if err != nil {
					return err
				}
				if c.asJSON {
					return printJSON(c.stdout, droppedView{Action: quarantine.ActionDrop, Dropped: dropped})
				}
				_, err = fmt.Fprintf(c.stdout, "%s dropped\n", refusedCount(dropped))
				return err
			})
		},
	}
	flags.register(cmd)
	by.register(cmd)
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "drop the selected deliveries; without it they are only counted")
	return cmd
}
