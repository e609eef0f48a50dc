package cli

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
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// reloadTimeout is the time that a reload may take. The process waits until the file has not
	// changed for a second.
	reloadTimeout = 30 * time.Second
	// reloadPoll is the interval at which the command reads the state of the reloads.
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
			if before == nil {
				return c.reloadUnseen(ctx, listener, cfg.Path(), args)
			}
			if len(args) > 0 && args[0] != strconv.Itoa(before.PID) {
				return fmt.Errorf("the process at %s has the PID %d, not %s", listener.base, before.PID, args[0])
			}
			if err := hangUp(before.PID); err != nil {
				return err
			}
			if err := listener.reloaded(ctx, *before); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Stdout, "process %d has reloaded %s\n", before.PID, cfg.Path())
			return err
		},
	}
}

// reloads returns what /readyz reports about reloads: the id of the process, the number of its
// reloads and the result of the last one. It returns nil if the process reports them neither
// without a token nor with any token in the configuration.
func (l adminListener) reloads(ctx context.Context) (*admin.Reloads, error) {
	var last *admin.Reloads
	// The first request has no token: a token may be new, and the process logs each token that it
	// does not know.
	for _, token := range append([]secret.Value{{}}, l.tokens...) {
		got, err := l.readyAs(ctx, token)
		if err != nil {
			return nil, err
		}
		if got.Reloads != nil {
			last = got.Reloads
		}
		if last != nil && (!last.Failed || last.Error != "") {
			break
		}
	}
	return last, nil
}

// reloaded waits until the process has tried another reload after the state in before was read, and
// returns the error of that reload.
func (l adminListener) reloaded(ctx context.Context, before admin.Reloads) error {
	return l.poll(ctx, before.PID, func(now *admin.Reloads) (bool, error) {
		switch {
		case now == nil:
			return true, fmt.Errorf("process %d no longer reports its reloads: see its log", before.PID)
		case now.PID != before.PID:
			return true, fmt.Errorf("process %d ended during the reload: process %d runs now", before.PID, now.PID)
		case now.Tried == before.Tried:
			return false, nil
		}
		return true, resultOf(now)
	})
}

// poll reads the state of the reloads repeatedly, and calls ended with it. When ended returns true,
// poll returns the error of that call. It also returns an error if a read fails, or if ctx ends.
func (l adminListener) poll(ctx context.Context, pid int, ended func(*admin.Reloads) (bool, error)) error {
	tick := time.NewTicker(reloadPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the reload did not end within %s: see the log of process %d", reloadTimeout, pid)
		}
		now, err := l.reloads(ctx)
		if err != nil {
			return err
		}
		if done, err := ended(now); done {
			return err
		}
	}
}

// resultOf returns the error of the last reload, or nil if that reload succeeded.
func resultOf(last *admin.Reloads) error {
	switch {
	case last.Error != "":
		return errors.New(last.Error)
	case last.Failed:
		return fmt.Errorf("the reload failed: see the log of process %d", last.PID)
	}
	return nil
}

// reloadUnseen reloads a process that does not report its reloads. The listener of such a process
// is not on a loopback address, and the process knows no token of the new configuration. If the
// process accepts a token after the reload, reloadUnseen reports the result of the reload.
func (c *cli) reloadUnseen(ctx context.Context, l adminListener, path string, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("the process at %s does not report its PID, because it knows no token in %s. Name its PID: `%s`", l.base, path, c.command("reload PID"))
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil || pid <= 0 {
		return misused("%q is not a PID", args[0])
	}
	if err := hangUp(pid); err != nil {
		return err
	}
	if len(l.tokens) == 0 {
		_, err := fmt.Fprintf(c.Stdout, "process %d was asked to reload %s; its log has the result\n", pid, path)
		return err
	}
	err = l.poll(ctx, pid, func(now *admin.Reloads) (bool, error) {
		if now == nil {
			return false, nil
		}
		return true, resultOf(now)
	})
	if err == nil {
		_, err = fmt.Fprintf(c.Stdout, "process %d has reloaded %s\n", pid, path)
	}
	return err
}

// hangUp sends SIGHUP to a process.
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
