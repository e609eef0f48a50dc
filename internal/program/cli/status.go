package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

const (
	// watchEvery is the refresh interval of status --watch.
	watchEvery = 2 * time.Second
	// clearScreen moves the cursor to the upper left corner of the terminal and clears the screen.
	clearScreen = "\x1b[H\x1b[2J"
)

func (c *cli) newStatus() *cobra.Command {
	var watch bool
	var team string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is waiting and what needs attention, on one screen",
		Long: `Show on one screen everything that needs attention, the first-attempt failure rate,
the duplicate rate and table growth. For each destination and source the screen shows
the waiting work and its age. Configured sources that have received nothing yet are
listed with a command that sends a test delivery. The screen also lists the running
processes.

With several cells, the screen has a section for each. A cell that does not answer
within 5 seconds is listed as needing attention.

The exit code is 1 when something needs attention. Counts of the last hour are up to ten
seconds old; table sizes and the charts of the last day are up to five minutes old.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			read := func(d database) func(context.Context) (screen, error) {
				opts := doctor.StatusOptions{Pool: d.pool, Schema: d.schema, SizeBudget: int64(d.config.Database.SizeBudget), AllowFsyncOff: d.config.Database.AllowsFsyncOff()}
				opts.Sources, opts.Flags = d.config.Accepting, c.inCell(d.config.Cell()).flags()
				if team != "" {
					opts.Of = func(name string) bool { return d.config.TeamOf(name) == team }
				}
				return func(ctx context.Context) (screen, error) { return doctor.ReadStatus(ctx, opts) }
			}
			cfg, err := c.loadForDatabase()
			if err != nil {
				return err
			}
			if teams := cfg.Whole().Teams(); team != "" && !slices.Contains(teams, team) {
				return misused("--team %q: no source or destination in the configuration belongs to this team; teams are %s", team, cmp.Or(strings.Join(teams, ", "), "none"))
			}
			if c.database.cell == "" && len(cfg.Cells) > 0 {
				return c.showStatus(cmd.Context(), watch, c.statusOfCells(cfg.CellNames(), read))
			}
			return c.withDatabase(cmd.Context(), func(d database) error { return c.showStatus(cmd.Context(), watch, read(d)) })
		},
	}
	c.database.register(cmd.Flags())
	c.jsonFlag(cmd)
	cmd.Flags().StringVar(&team, "team", "", "only this `team`'s sources and destinations, and findings that concern all teams")
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh every two seconds until interrupted")
	return cmd
}

// screen is the output of status.
type screen interface {
	Print(w io.Writer) error
	NeedsSomebody() bool
}

func (c *cli) showStatus(ctx context.Context, watch bool, read func(context.Context) (screen, error)) error {
	if watch {
		return c.watchStatus(ctx, read)
	}
	s, err := read(ctx)
	if err != nil {
		return err
	}
	if c.asJSON {
		err = PrintJSON(c.Stdout, s)
	} else {
		err = s.Print(c.Stdout)
	}
	if err == nil && s.NeedsSomebody() {
		return errFound
	}
	return err
}

// watchStatus prints the status repeatedly: it replaces the previous screen, or prints one line of
// JSON each time.
func (c *cli) watchStatus(ctx context.Context, read func(context.Context) (screen, error)) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		s, err := read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // an interrupt is the normal end
		case err != nil:
			return err
		case c.asJSON:
			err = printLine(c.Stdout, s)
		default:
			fmt.Fprint(c.Stdout, clearScreen)
			err = s.Print(c.Stdout)
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
