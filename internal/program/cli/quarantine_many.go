package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// refusedFlags are the flags of an action on refused deliveries.
type refusedFlags struct {
	quarantineFlags
	runFlags

	action ledger.Action
	by     operatorFlags
}

func (f *refusedFlags) register(cmd *cobra.Command) {
	f.quarantineFlags.register(cmd)
	f.runFlags.register(cmd, "deliveries")
	f.by.register(cmd)
}

// ofRefused passes the delivery that an argument names to the function one. For a selection by
// flags, it counts the deliveries. With --yes, it starts a run instead, and carries out the run
// unless --detach leaves it to the workers.
func (c *cli) ofRefused(cmd *cobra.Command, f refusedFlags, args []string,
	one func(context.Context, *outbox.Outbox, *quarantine.Quarantine, uuid.UUID, ledger.Operator) error,
) error {
	filter, err := f.selected(args)
	if err == nil {
		err = checkRate(f.rate, "deliveries")
	}
	if err == nil && len(args) == 1 && (f.rate != 0 || f.detach || f.label != "") {
		err = misused("a delivery and a selection by flags exclude each other")
	}
	if err != nil {
		return err
	}
	return c.withQuarantine(cmd, func(o *outbox.Outbox, q *quarantine.Quarantine) error {
		shares, err := q.Count(cmd.Context(), filter)
		switch {
		case err != nil:
			return err
		case len(args) == 1 && len(shares) == 0:
			return c.notFound(fmt.Sprintf("no delivery in quarantine has the id %s", filter.ID), filter.ID.String())
		case len(args) == 1:
			return one(cmd.Context(), o, q, filter.ID, f.by.operator())
		case !f.yes:
			return c.printShares(shares, f.action, cmd.Name())
		}
		m := manyOrder{cli: c, runFlags: f.runFlags, cmd: cmd, by: f.by.operator(), order: runs.Order{
			Action: f.action, Quarantine: filter.UntilNow(shares), Name: f.label, PerSecond: f.rate, Counted: totalOf(shares),
		}}
		switch {
		case f.detach:
			return m.leave(cmd.Context(), o.Runs())
		case f.action == quarantine.ActionRetry:
			return c.verifying(o, func(verify quarantine.Verify) error { return m.carryRefused(cmd.Context(), o.Runs().Verifying(verify)) })
		}
		return m.carryRefused(cmd.Context(), o.Runs())
	})
}

// carryRefused starts a run on refused deliveries, carries it out and prints the result.
func (m manyOrder) carryRefused(ctx context.Context, r *runs.Runs) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	run, err := r.Begin(context.WithoutCancel(ctx), m.order, m.by)
	if err != nil {
		return err
	}
	s := shift{cli: m.cli, runs: r, by: m.by}
	run, err = s.work(ctx, run)
	switch {
	case !m.asJSON:
		return errors.Join(err, s.tell(run))
	case run.Action == quarantine.ActionDrop:
		return errors.Join(err, PrintJSON(m.Stdout, droppedView{Action: run.Action, Run: run.ID, Dropped: run.Changed}))
	}
	return errors.Join(err, PrintJSON(m.Stdout, retriedBy(run)))
}

// printRetried prints the result of a verification.
func (c *cli) printRetried(accepted, duplicates int64, refused map[string]int64) {
	fmt.Fprintf(c.Stdout, "%s accepted, including %s\n", refusedCount(accepted), counted(int(duplicates), "duplicate"))
	c.printRefused(refused)
}

func (c *cli) printRefused(refused map[string]int64) {
	for _, reason := range slices.Sorted(maps.Keys(refused)) {
		fmt.Fprintf(c.Stdout, "%d still refused: %s\n", refused[reason], reason)
	}
}

// totalOf returns the number of deliveries in all shares.
func totalOf(shares []quarantine.Share) (total int64) {
	for _, s := range shares {
		total += s.Count
	}
	return total
}
