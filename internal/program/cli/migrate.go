package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/schema"
)

func (c *cli) newMigrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Apply, remove or list migrations of the database schema",
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
		Short: "Apply pending migrations of River and Hooklatch",
		Long:  "Apply pending migrations of River and Hooklatch, and create the partitions of the next\ndays, in the databases of all cells or of the cell that --cell names. The command can run\nrepeatedly and in several processes simultaneously.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var done []cellStep
			one := func(c *cli) error {
				return c.withMigrator(cmd.Context(), func(m *schema.Migrator) error {
					steps, err := m.Up(cmd.Context())
					for _, s := range steps {
						done = append(done, cellStep{s, c.database.cell})
					}
					return err
				})
			}
			err := c.eachCell(one)
			if err != nil && len(done) == 0 {
				return err
			}
			return errors.Join(err, c.printSteps(done, "the schema is up to date"))
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
				return misused("choose what to remove: --steps N or --all")
			case !all && steps < 1:
				return wrongCount("steps", steps)
			case !yes:
				return misused("this removes tables with all their data and cannot be undone: confirm with --yes")
			case all:
				steps = 0
			}
			return c.withMigrator(cmd.Context(), func(m *schema.Migrator) error {
				removed, err := m.Down(cmd.Context(), steps)
				if err != nil {
					return err
				}
				done := make([]cellStep, len(removed))
				for i, s := range removed {
					done[i] = cellStep{s, c.database.cell}
				}
				return c.printSteps(done, "no migrations to remove")
			})
		},
	}
	cmd.Flags().IntVar(&steps, "steps", 0, "remove this many of the newest migrations of Hooklatch")
	cmd.Flags().BoolVar(&all, "all", false, "remove everything: the migrations of Hooklatch and River, and the schema")
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm that the data is lost")
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) newMigrateStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List migrations and whether they are applied",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withMigrator(cmd.Context(), func(m *schema.Migrator) error {
				status, err := m.Status(cmd.Context())
				if err != nil {
					return err
				}
				if c.asJSON {
					return PrintJSON(c.Stdout, status)
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
	pool, err := c.openDatabase(ctx, cfg)
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

// cellStep is a migration in one cell. Its cell is empty if there is only one cell and none was
// chosen.
type cellStep struct {
	schema.Step

	Cell string `json:"cell,omitzero"`
}

// eachCell calls do for the chosen cell, or for every cell if none is chosen. It continues after an
// error.
func (c *cli) eachCell(do func(*cli) error) error {
	if c.database.cell != "" {
		return do(c)
	}
	cfg, err := c.loadForDatabase()
	if err != nil {
		return err
	}
	if len(cfg.Cells) == 0 {
		return do(c)
	}
	var errs []error
	for _, name := range cfg.CellNames() {
		if err := do(c.inCell(name)); err != nil {
			errs = append(errs, fmt.Errorf("cell %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (c *cli) printSteps(steps []cellStep, nothing string) error {
	if c.asJSON {
		return PrintJSON(c.Stdout, listed(steps))
	}
	if len(steps) == 0 {
		_, err := fmt.Fprintln(c.Stdout, nothing)
		return err
	}
	for _, s := range steps {
		in := ""
		if s.Cell != "" {
			in = "  cell " + s.Cell
		}
		fmt.Fprintf(c.Stdout, "%-4s  %s %04d_%s  %s%s\n", s.Direction, s.Owner, s.Version, s.Name, s.Duration.Round(time.Millisecond), in)
	}
	_, err := fmt.Fprintf(c.Stdout, "%s done\n", counted(len(steps), "migration"))
	return err
}

func (c *cli) printStatus(status schema.Status) error {
	t := newTable(c.Stdout, "MIGRATION", "STATE")
	t.row(fmt.Sprintf("river, version %d", status.River.Wanted), riverState(status.River))
	for _, m := range status.Migrations {
		state := "pending"
		if m.AppliedAt != nil {
			state = "applied " + shown(*m.AppliedAt)
		}
		if m.Changed {
			state += ", but its text differs from the migration in this program"
		}
		if m.Unknown {
			state += ", by a newer version of the program"
		}
		t.row(m.String(), state)
	}
	t.row("partitions of deliveries", counted(max(status.DaysAhead, 0), "day")+" ahead")
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
