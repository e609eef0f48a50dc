package cli

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// droppedView is the result of a drop, as --json prints it.
type droppedView struct {
	Action  ledger.Action `json:"action"`
	Run     int64         `json:"run,omitempty"`
	Dropped int64         `json:"dropped"`
}

func (c *cli) newQuarantineDrop() *cobra.Command {
	f := refusedFlags{action: quarantine.ActionDrop}
	cmd := &cobra.Command{
		Use:   "drop [ID | FLAGS]",
		Short: desk.By(quarantine.ActionDrop).Short,
		Long: `Delete one refused delivery, or all that the flags select. This cannot be undone. The
operator, time and reason are recorded.

Without --yes a selection is only counted. With --yes the selection becomes a bulk run,
which this command carries out.`,
		Example: "  " + c.Name + ` quarantine drop --source stripe --refused-for missing_signature --yes --reason "a scanner"`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.ofRefused(cmd, f, args, c.dropRefused)
		},
	}
	f.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// dropRefused drops one delivery and prints the result.
func (c *cli) dropRefused(ctx context.Context, _ *outbox.Outbox, q *quarantine.Quarantine, id uuid.UUID, by ledger.Operator) error {
	there, err := q.Drop(ctx, id, by)
	if err != nil {
		return err
	}
	view := droppedView{Action: quarantine.ActionDrop}
	if there {
		view.Dropped = 1
	}
	if c.asJSON {
		return PrintJSON(c.Stdout, view)
	}
	_, err = fmt.Fprintf(c.Stdout, "%s dropped\n", refusedCount(view.Dropped))
	return err
}
