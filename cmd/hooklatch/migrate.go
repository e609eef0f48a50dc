package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/schema"
)

func (c *cli) newMigrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the tables up, down, or tell their state",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	c.database.register(cmd.PersistentFlags())
	cmd.AddCommand(c.newMigrateUp(), c.newMigrateDown(), c.newMigrateStatus())
	return cmd
}

func (c *cli) newMigrateUp() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Apply the migrations that are pending, River's and ours",
		Long:  "Apply the migrations that are pending, River's and ours, and make the\npartitions of the next days. It may run many times and in many places at once.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMigrator(cmd.Context(), func(m *schema.Migrator) error {
				steps, err := m.Up(cmd.Context())
				if err != nil {
					return err
				}
				return c.printSteps(steps, "the schema is up to date: nothing to do")
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) newMigrateDown() *cobra.Command {
	var all, yes bool
	var steps int
	cmd := &cobra.Command{
		Use:   "down (--steps N | --all) --yes",
		Short: "Remove migrations and all their data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case all == cmd.Flags().Changed("steps"):
				return misused("say how much is to be removed: --steps N or --all")
			case !all && steps < 1:
				return wrongCount("steps", steps)
			case !yes:
				return misused("this removes tables with all their data: confirm with --yes")
			case all:
				steps = 0
			}
			return c.withMigrator(cmd.Context(), func(m *schema.Migrator) error {
				done, err := m.Down(cmd.Context(), steps)
				if err != nil {
					return err
				}
				return c.printSteps(done, "there was nothing to remove")
			})
		},
	}
	cmd.Flags().IntVar(&steps, "steps", 0, "how many of the newest migrations of ours to remove")
	cmd.Flags().BoolVar(&all, "all", false, "remove everything: ours, River's, and the schema")
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm that the data is lost")
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) newMigrateStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell which migrations are applied",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMigrator(cmd.Context(), func(m *schema.Migrator) error {
				status, err := m.Status(cmd.Context())
				if err != nil {
					return err
				}
				if c.asJSON {
					return printJSON(c.stdout, status)
				}
				return c.printStatus(status)
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) withMigrator(ctx context.Context, f func(*schema.Migrator) error) error {
	cfg, err := c.loadForDatabase()
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, c.databaseOf(cfg))
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := schema.NewMigrator(pool, schema.Name(cfg.Database.Schema), nil)
	if err != nil {
		return err
	}
	return f(m)
}

func (c *cli) printSteps(steps []schema.Step, nothing string) error {
	if c.asJSON {
		return printJSON(c.stdout, listed(steps))
	}
	if len(steps) == 0 {
		_, err := fmt.Fprintln(c.stdout, nothing)
		return err
	}
	for _, s := range steps {
		fmt.Fprintf(c.stdout, "%-4s  %s %04d_%s  %s\n", s.Direction, s.Owner, s.Version, s.Name, s.Duration.Round(time.Millisecond))
	}
	_, err := fmt.Fprintf(c.stdout, "%s done\n", counted(len(steps), "migration"))
	return err
}

func (c *cli) printStatus(status schema.Status) error {
	t := newTable(c.stdout, "MIGRATION", "STATE")
	t.row(fmt.Sprintf("river, version %d", status.River.Wanted), riverState(status.River))
	for _, m := range status.Migrations {
		state := "pending"
		if m.AppliedAt != nil {
			state = "applied " + shown(*m.AppliedAt)
		}
		if m.Changed {
			state += ", but from another text than this program has"
		}
		if m.Unknown {
			state += ", by a newer program"
		}
		t.row(m.String(), state)
	}
	t.row("partitions of deliveries", fmt.Sprintf("%d days ahead", max(status.DaysAhead, 0)))
	return t.flush()
}

func riverState(river schema.RiverStatus) string {
	switch {
	case river.Present == 0:
		return "pending"
	case river.Present < river.Wanted:
		return fmt.Sprintf("pending, version %d is applied", river.Present)
	case river.Present > river.Wanted:
		return fmt.Sprintf("applied, version %d", river.Present)
	}
	return "applied"
}
