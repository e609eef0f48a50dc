package main

import (
	"context"
	"fmt"
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
what is waiting and since when. It also lists the running processes.

The exit code is 1 when something needs attention. Counts of the last hour are up to ten
seconds old; table sizes and the charts of the last day are up to five minutes old.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withDatabase(cmd.Context(), func(d database) error {
				opts := doctor.StatusOptions{Pool: d.pool, Schema: d.schema, SizeBudget: int64(d.config.Database.SizeBudget), AllowFsyncOff: d.config.Database.AllowsFsyncOff()}
				if team != "" {
					opts.Of = func(name string) bool { return d.config.TeamOf(name) == team }
				}
				if watch {
					return c.watchStatus(cmd.Context(), opts)
				}
				s, err := doctor.ReadStatus(cmd.Context(), opts)
				if err != nil {
					return err
				}
				if err := c.printScreen(s); err != nil {
					return err
				}
				if s.NeedsSomebody() {
					return errFound
				}
				return nil
			})
		},
	}
	c.database.register(cmd.Flags())
	c.jsonFlag(cmd)
	cmd.Flags().StringVar(&team, "team", "", "only this `team`'s sources and destinations, and what concerns all teams")
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh every two seconds until interrupted")
	return cmd
}

func (c *cli) printScreen(s *doctor.Status) error {
	if c.asJSON {
		return printJSON(c.stdout, s)
	}
	return s.Print(c.stdout)
}

// watchStatus prints the status repeatedly: it replaces the previous screen, or prints one line of
// JSON each time.
func (c *cli) watchStatus(ctx context.Context, opts doctor.StatusOptions) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		s, err := doctor.ReadStatus(ctx, opts)
		switch {
		case ctx.Err() != nil:
			return nil // an interrupt is the normal end
		case err != nil:
			return err
		case c.asJSON:
			err = printLine(c.stdout, s)
		default:
			fmt.Fprint(c.stdout, clearScreen)
			err = s.Print(c.stdout)
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
