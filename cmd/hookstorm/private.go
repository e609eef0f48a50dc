package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

const (
	// privateEnv is set in a process that may mount its own disks. No other process sees these
	// disks.
	privateEnv = "HOOKSTORM_PRIVATE"
	// privateEnding is the maximum time for the repeated command to stop after an interrupt.
	privateEnding = 2 * time.Minute
)

// errNotPrivate is returned if no process with its own disks can be started.
var errNotPrivate = errors.New("this machine allows no private disks, so a full disk is only simulated")

// privately repeats this command in a process that may mount its own disks, so that a full disk is
// real and not simulated. It returns errNotPrivate if that process cannot be started, and errFound
// if the process exits with an error.
func privately(ctx context.Context, s streams) error {
	self, err := os.Executable()
	if err != nil {
		return errors.Join(errNotPrivate, err)
	}
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...) //nolint:gosec // this program itself
	cmd.Env = append(os.Environ(), privateEnv+"=1")
	cmd.Stdout, cmd.Stderr = s.stdout, s.stderr
	cluster.Privately(cmd)
	if cmd.SysProcAttr != nil {
		// An interrupt from the terminal reaches only this process, which passes it on once, as
		// SIGTERM.
		cmd.SysProcAttr.Setpgid = true
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = privateEnding
	if err := cmd.Start(); err != nil {
		return errors.Join(errNotPrivate, err)
	}
	err = cmd.Wait()
	if ended, exited := errors.AsType[*exec.ExitError](err); exited && ended.ExitCode() > 0 {
		return errFound // the repeated command has printed the reason
	}
	if err != nil {
		return fmt.Errorf("run privately: %w", err)
	}
	return nil
}
