package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// runFlags say how an order about many is carried out.
type runFlags struct {
	label       string
	rate        float64
	yes, detach bool
}

// register declares them; what is "effects" or "events".
func (f *runFlags) register(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.Float64Var(&f.rate, "rate", 0, "at most this many `"+what+"` of the selection in a second (default no limit)")
	flags.StringVar(&f.label, "name", "", "`name` of the run, for those who look at it")
	flags.BoolVar(&f.yes, "yes", false, "do it; without it the selection is only counted")
	flags.BoolVar(&f.detach, "detach", false, "leave it to the workers of the database, and return when it is written down")
}

func (f *runFlags) given() bool { return *f != runFlags{} }

// manyOrder is an order about many, as a command was given it.
type manyOrder struct {
	*cli
	runFlags

	order runs.Order
	by    ledger.Operator
	cmd   *cobra.Command // as it was given
}

// carryOutMany counts what is selected, or begins a run about it and works it off.
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

// leave begins a run and returns.
func (m manyOrder) leave(ctx context.Context, r *runs.Runs) error {
	run, err := r.Begin(ctx, m.order, m.by)
	if err != nil {
		return err
	}
	if m.asJSON {
		return printJSON(m.stdout, life.OfRun(run))
	}
	_, err = fmt.Fprintf(m.stdout, "run %d: %s\nlook at it with:\n  %s runs show %d\n", run.ID, safetext.Shown(run.Words()), m.name, run.ID)
	return err
}

// begin begins a run. It counts before, so that it can say how much is left.
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
	// An interrupt must not leave it open whether there is a run: it is paused instead.
	run, err := r.Begin(context.WithoutCancel(ctx), order, m.by)
	return counted, run, err
}

// do begins a run and works it off.
func (m manyOrder) do(ctx context.Context, r *runs.Runs) error {
	counted, run, err := m.begin(ctx, r)
	if err != nil {
		return err
	}
	s := shift{cli: m.cli, runs: r, by: m.by, whyUnclear: counted.WhyUnclear}
	run, err = s.work(ctx, run)
	if m.asJSON {
		return errors.Join(err, printJSON(m.stdout, m.viewOfRun(counted, run)))
	}
	return errors.Join(err, s.tell(run))
}
