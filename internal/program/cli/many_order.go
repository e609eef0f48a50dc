package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// runFlags are the flags that control a bulk run.
type runFlags struct {
	label       string
	rate        float64
	yes, detach bool
}

// register declares the flags. The parameter what names the objects of the run in the help texts:
// "effects", "events" or "deliveries".
func (f *runFlags) register(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.Float64Var(&f.rate, "rate", 0, "process at most this many `"+what+"` per second (default no limit)")
	flags.StringVar(&f.label, "name", "", "`name` of the run, shown in lists of runs")
	flags.BoolVar(&f.yes, "yes", false, "carry out the run; without this flag the selection is only counted")
	flags.BoolVar(&f.detach, "detach", false, "store the run, leave it to the workers and return")
}

func (f *runFlags) given() bool { return *f != runFlags{} }

// manyOrder is a bulk run that a command starts.
type manyOrder struct {
	*cli
	runFlags

	order runs.Order
	by    ledger.Operator
	cmd   *cobra.Command // the command that starts the run
}

// carryOutMany counts the selection. With --yes, it starts a run instead, and carries out the run
// unless --detach leaves it to the workers.
func (c *cli) carryOutMany(ctx context.Context, m manyOrder) error {
	return c.withOutbox(ctx, func(o *outbox.Outbox) error {
		r := runsOf(o)
		m.order.Name, m.order.PerSecond = m.label, m.rate
		switch {
		case !m.yes:
			return m.preview(ctx, o, r)
		case m.detach:
			return m.leave(ctx, r)
		}
		return m.do(ctx, r)
	})
}

// leave starts a run and leaves it to the workers.
func (m manyOrder) leave(ctx context.Context, r *runs.Runs) error {
	run, err := r.Begin(ctx, m.order, m.by)
	if err != nil {
		return err
	}
	if m.asJSON {
		return PrintJSON(m.Stdout, life.OfRun(run))
	}
	_, err = fmt.Fprintf(m.Stdout, "run %d: %s\nwatch it with:\n  %s\n", run.ID, safetext.Shown(run.Words()), m.command("runs show "+strconv.FormatInt(run.ID, 10)))
	return err
}

// begin starts a run. It counts the selection first, so that progress can be shown.
func (m manyOrder) begin(ctx context.Context, r *runs.Runs) (runs.Preview, runs.Run, error) {
	counted, err := m.count(ctx, r)
	if err != nil {
		return counted, runs.Run{}, err
	}
	if err := ctx.Err(); err != nil {
		return counted, runs.Run{}, err
	}
	order := counted.Order
	order.Counted = counted.Selected
	// An interrupt does not cancel Begin, because the command must know whether the run was
	// created. The caller pauses the new run instead.
	run, err := r.Begin(context.WithoutCancel(ctx), order, m.by)
	return counted, run, err
}

// do starts a run and carries it out.
func (m manyOrder) do(ctx context.Context, r *runs.Runs) error {
	counted, run, err := m.begin(ctx, r)
	if err != nil {
		return err
	}
	s := shift{cli: m.cli, runs: r, by: m.by, whyUnclear: counted.WhyUnclear}
	run, err = s.work(ctx, run)
	if m.asJSON {
		return errors.Join(err, PrintJSON(m.Stdout, m.viewOfRun(counted, run)))
	}
	return errors.Join(err, s.tell(run))
}
