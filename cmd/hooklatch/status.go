package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

const (
	// watchEvery is how often status --watch looks again.
	watchEvery = 2 * time.Second
	// clearScreen takes a terminal to its upper left corner and wipes it.
	clearScreen = "\x1b[H\x1b[2J"
)

func (c *cli) newStatus() *cobra.Command {
	var watch bool
	var team string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show on one screen what waits, and what needs a person",
		Long: `Show on one screen the share of first attempts that failed, the share of events
that came before, and how the tables grow; what needs a person; what waits for
each destination and of each source, and since when; and the processes that run.

The exit code is 1 when something needs a person. Counts of the last hour are as
late as ten seconds, sizes and the pictures of the last day five minutes.`,
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
	cmd.Flags().StringVar(&team, "team", "", "only sources and destinations of this `team` of the configuration, and what concerns all")
	cmd.Flags().BoolVar(&watch, "watch", false, "look again every two seconds until interrupted")
	return cmd
}

func (c *cli) printScreen(s *doctor.Status) error {
	if c.asJSON {
		return printJSON(c.stdout, s)
	}
	return s.Print(c.stdout)
}

// watchStatus prints again and again: on a screen in the place of the former, JSON as a
// line each.
func (c *cli) watchStatus(ctx context.Context, opts doctor.StatusOptions) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		s, err := doctor.ReadStatus(ctx, opts)
		switch {
		case ctx.Err() != nil:
			return nil // interrupted, as it is meant to be
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
