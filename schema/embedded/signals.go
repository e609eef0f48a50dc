//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/schema/internal/family"
)

// runsIn reports whether the process pid is a server that runs in dataDir. A process id alone
// proves nothing: it may have been reused.
func runsIn(pid int, dataDir string) bool {
	return strings.Contains(family.CommandOf(pid), " -D "+dataDir+" ")
}

// stopOrphan stops the server that a killed parent left in dataDir. If the data must be kept, it
// first tries a fast shutdown for up to 10 s. Otherwise, or after that time, it kills the server.
func stopOrphan(dataDir string, keep bool) error {
	pid, _ := readPidFile(dataDir)
	if pid <= 1 || !runsIn(pid, dataDir) {
		return nil
	}
	if keep {
		_ = syscall.Kill(pid, syscall.SIGINT)
		if gone(pid, 10*time.Second) {
			return nil
		}
	}
	family.Kill(pid)
	if !gone(pid, 10*time.Second) {
		return fmt.Errorf("server %d of %s, left by a process that was killed, does not end", pid, dataDir)
	}
	return nil
}

// gone waits, for at most the given time, until a process that is not our child has exited. It
// reports whether the process has exited.
func gone(pid int, atMost time.Duration) bool {
	deadline := time.Now().Add(atMost)
	for family.Alive(pid) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(2 * time.Millisecond)
	}
	return true
}

// stop requests a fast shutdown, then an immediate shutdown, and then sends SIGKILL, which cannot
// fail. If ctx is done, stop does not wait between these steps.
func (p *process) stop(ctx context.Context) {
	if p.ended() {
		return
	}
	_ = family.Resume(p.pid)
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{
		{syscall.SIGINT, 10 * time.Second}, // fast: roll back, checkpoint
		{syscall.SIGQUIT, 5 * time.Second}, // immediate: recover at the next start
	} {
		_ = syscall.Kill(p.pid, step.signal)
		timer := time.NewTimer(step.wait)
		select {
		case <-p.done:
			timer.Stop()
			return
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	family.Kill(p.pid)
	<-p.done
}
