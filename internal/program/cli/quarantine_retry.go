package cli

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

func (c *cli) newQuarantineRetry() *cobra.Command {
	f := refusedFlags{action: quarantine.ActionRetry}
	cmd := &cobra.Command{
		Use:   "retry [ID | FLAGS]",
		Short: desk.By(quarantine.ActionRetry).Short,
		Long: `Verify one refused delivery again, or all that the flags select, with the current
secrets and settings, oldest first. A signed time is compared with the time of arrival.
A delivery that passes is accepted as if it had been sent again, and leaves the
quarantine. A delivery that is refused again stays in quarantine until it is 7 days old.
The operator, time and reason are recorded.

Without --yes a selection is only counted. With --yes the selection becomes a bulk run,
which this command carries out. An interrupt pauses the run, and 'hooklatch runs resume'
continues it. With --detach, or if the command is killed, workers carry out the run.`,
		Example: "  " + c.Name + ` quarantine retry --source stripe
  ` + c.Name + ` quarantine retry --source stripe --refused-for wrong_signature --yes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.ofRefused(cmd, f, args, c.retryRefused)
		},
	}
	f.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// retriedView is the result of a retry, as --json prints it.
type retriedView struct {
	Action ledger.Action `json:"action"`
	Run    int64         `json:"run,omitempty"`

	quarantine.Retried
}

// retriedBy returns the result of a run that verified deliveries again.
func retriedBy(run runs.Run) retriedView {
	came := quarantine.Retried{Accepted: run.Changed - run.Duplicates, Duplicates: run.Duplicates, Refused: run.Refused}
	if came.Refused == nil {
		came.Refused = map[string]int64{}
	}
	return retriedView{quarantine.ActionRetry, run.ID, came}
}

// retryRefused verifies one delivery again and prints the result.
func (c *cli) retryRefused(ctx context.Context, o *outbox.Outbox, q *quarantine.Quarantine, id uuid.UUID, by ledger.Operator) error {
	return c.verifying(o, func(verify quarantine.Verify) error {
		came, err := q.Retry(ctx, id, by, verify)
		if c.asJSON {
			return errors.Join(err, PrintJSON(c.Stdout, retriedView{Action: quarantine.ActionRetry, Retried: came}))
		}
		c.printRetried(came.Accepted+came.Duplicates, came.Duplicates, came.Refused)
		return err
	})
}

// verifying calls f with a Verify that uses the configuration.
func (c *cli) verifying(o *outbox.Outbox, f func(quarantine.Verify) error) error {
	cfg, err := c.loadToRun()
	if err != nil {
		return err
	}
	verify, stop, err := app.NewVerifier(cfg, o)
	if err != nil {
		return err
	}
	return errors.Join(f(verify), stop(context.Background()))
}
