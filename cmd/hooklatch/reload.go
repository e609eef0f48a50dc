package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/admin"
)

const (
	// reloadTimeout is the time that a reload may take. The process waits until the file has not
	// changed for a second.
	reloadTimeout = 30 * time.Second
	// reloadPoll is the interval between two requests to /readyz.
	reloadPoll = 200 * time.Millisecond
)

func (c *cli) newReload() *cobra.Command {
	return &cobra.Command{
		Use:   "reload [PID]",
		Short: "Make the running process read its configuration again",
		Long: `Check the configuration, then make the running process read it again, and wait for the
result. If the configuration has a mistake, the command prints the reason, the exit code
is 1, and the process keeps its old configuration.

The process is the one at the configured admin listener (admin.listen). PID, if given,
must be the id of that process. The command sends SIGHUP: run it as the same user, on the
same machine.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.loadToRun()
			if err != nil {
				return fmt.Errorf("the process was not asked to reload: %w", err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), reloadTimeout)
			defer cancel()
			listener := listenerOf(cfg)
			before, err := listener.reloads(ctx)
			if err != nil {
				return err
			}
			if len(args) > 0 && args[0] != strconv.Itoa(before.PID) {
				return fmt.Errorf("the process at %s has the PID %d, not %s", listener.base, before.PID, args[0])
			}
			if err := hangUp(before.PID); err != nil {
				return err
			}
			if err := listener.reloaded(ctx, before); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.stdout, "process %d has reloaded %s\n", before.PID, cfg.Path())
			return err
		},
	}
}

// reloads returns the id of the process, the number of its reloads and the error of the last one, as
// /readyz reports them.
func (l adminListener) reloads(ctx context.Context) (admin.Reloads, error) {
	got, err := l.ready(ctx)
	if err != nil {
		return admin.Reloads{}, err
	}
	if got.Reloads == nil {
		return admin.Reloads{}, fmt.Errorf("the process at %s does not report the result of a reload: its token is not the one in the configuration, or its version is older", l.base)
	}
	return *got.Reloads, nil
}

// reloaded waits until the process has tried another reload after the state in before was read, and
// returns the error of that reload.
func (l adminListener) reloaded(ctx context.Context, before admin.Reloads) error {
	tick := time.NewTicker(reloadPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the reload did not end within %s: see the log of process %d", reloadTimeout, before.PID)
		}
		now, err := l.reloads(ctx)
		switch {
		case err != nil:
			return err
		case now.PID != before.PID:
			return fmt.Errorf("process %d ended during the reload: process %d runs now", before.PID, now.PID)
		case now.Tried == before.Tried:
		case now.Error != "":
			return errors.New(now.Error)
		default:
			return nil
		}
	}
}

// hangUp sends SIGHUP.
func hangUp(pid int) error {
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Signal(syscall.SIGHUP)
	}
	if err != nil {
		return fmt.Errorf("send SIGHUP to process %d: %w", pid, err)
	}
	return nil
}
