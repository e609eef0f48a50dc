package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// retiredView is the result of retire, as --json prints it.
type retiredView struct {
	Destination string `json:"destination"`
	Parked      int64  `json:"parked"`
}

func (c *cli) newDestinationsRetire() *cobra.Command {
	var by operatorFlags
	cmd := &cobra.Command{
		Use:   "retire NAME",
		Short: "Park the effects of a permanently removed destination",
		Long: `Retire a destination that was permanently removed from the configuration. Effects that
wait for it are parked, and hooklatch.enqueue rejects new ones. The command refuses a
destination that a running process still has: remove it from the configuration and
restart first.

The effects are parked by a bulk run, which this command carries out. An interrupt
pauses the run, and 'hooklatch runs resume' continues it. A worker that starts with the
destination in its configuration registers the destination again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				run, err := o.Fleet().Retire(cmd.Context(), name, by.operator())
				switch {
				case errors.Is(err, ledger.ErrUnknownDestination):
					return c.noSuchDestination(name)
				case errors.Is(err, fleet.ErrServed):
					return fmt.Errorf("%s is in the configuration of a running process: remove it and restart; to see how many processes still have it, run: %s",
						safetext.Shown(name), c.command("destinations list"))
				case err != nil:
					return err
				}
				s := shift{cli: c, runs: o.Runs(), by: by.operator()}
				run, err = s.work(cmd.Context(), run)
				if c.asJSON {
					return errors.Join(err, PrintJSON(c.Stdout, retiredView{Destination: name, Parked: run.Changed}))
				}
				fmt.Fprintf(c.Stdout, "%s is retired%s; %s parked\n", name, c.within, counted(int(run.Changed), "effect"))
				return err
			})
		},
	}
	by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}
