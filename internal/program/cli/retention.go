package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

func (c *cli) newRetention() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retention",
		Short: "Delete expired data",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newRetentionRun())
	return cmd
}

type retentionFlags struct {
	yes, dryRun bool
	by          operatorFlags
}

func (c *cli) newRetentionRun() *cobra.Command {
	var f retentionFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Delete expired data now, as workers do every hour",
		Long: `Delete data that is past its retention, as workers do automatically every hour. Data
that unfinished work needs is kept.

A run that would delete more than three days of data beyond the previous run deletes
nothing and waits for an operator: the database's clock may have jumped, or a retention
setting may have been shortened by mistake. Count the rows that would be deleted with
--dry-run, and confirm the deletion with --yes; the confirmation is recorded. If a run
is interrupted, the next run continues it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.yes && f.dryRun {
				return misused("--dry-run deletes nothing: omit --yes")
			}
			if _, err := config.Find(c.configPath); err != nil && !f.dryRun {
				return fmt.Errorf("%w; without a configuration, days that it exports would be deleted without an export", err)
			}
			cfg, err := c.loadForDatabase()
			if err != nil {
				return err
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				return c.runRetention(cmd.Context(), o.Retention(), app.RetentionOf(cfg), f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "delete even if this deletes more than three days of data at once")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only count what would be deleted")
	f.by.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) runRetention(ctx context.Context, keeper *retention.Keeper, settings retention.Settings, f retentionFlags) error {
	if f.dryRun {
		report, err := keeper.Plan(ctx, settings)
		if err != nil {
			return err
		}
		return c.printRetention(report, "WOULD DELETE")
	}
	order := retention.Order{Settings: settings}
	progress := c.eachSecond()
	order.Progress = func(p retention.Part) { progress("%s: %s deleted\n", partName(p), counted(int(p.Rows), "row")) }
	if f.yes {
		by := f.by.operator()
		order.Approved = &by
	}
	report, err := keeper.Run(ctx, order)
	if err != nil {
		return err
	}
	if err := c.printRetention(report, "DELETED"); err != nil {
		return err
	}
	if report.Stopped {
		return errFound
	}
	return nil
}

func partName(p retention.Part) string {
	if p.Source == "" {
		return string(p.What)
	}
	return fmt.Sprintf("%s of %s", p.What, p.Source)
}

func (c *cli) printRetention(report retention.Report, rows string) error {
	if c.asJSON {
		return PrintJSON(c.Stdout, report)
	}
	t := newTable(c.Stdout, "DATA", "SOURCE", "OLDER THAN", rows, "BYTES", "KEPT", "")
	for _, p := range report.Parts {
		note := ""
		if p.Stopped {
			note = "more than three days at once: the last run reached " + shown(p.Horizon)
		}
		source := string(p.Source)
		if source == "" {
			source = "-"
		}
		t.row(string(p.What), source, shown(p.Before), strconv.FormatInt(p.Rows, 10), strconv.FormatInt(p.Bytes, 10), strconv.FormatInt(p.Kept, 10), note)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if !report.Stopped {
		return nil
	}
	_, err := fmt.Fprintf(c.Stdout, "\nnothing is deleted until an operator confirms. Check the database's clock and the retention settings.\n"+
		"count what would be deleted with:\n  %s\nconfirm with:\n  %s\n", c.command("retention run --dry-run"), c.command("retention run --yes"))
	return err
}
