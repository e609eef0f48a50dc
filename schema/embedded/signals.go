//go:build linux || darwin || freebsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// killAll kills a server and all its processes at once. The postmaster is
// stopped first, or it would see its children die and tell clients about it.
func killAll(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	family := append(children(pid), pid)
	for _, member := range family {
		_ = syscall.Kill(member, syscall.SIGKILL)
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, member := range family {
		for member != pid && alive(member) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
	}
}

// signalAll sends a signal to a server and all its processes.
func signalAll(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(pid, signal); err != nil {
		return err
	}
	for _, child := range children(pid) {
		if err := syscall.Kill(child, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// alive tells whether a process runs.
func alive(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !ended(pid)
}

// runsIn tells whether pid is a server of dataDir. A process id alone proves
// nothing: it may have been given to somebody else since.
func runsIn(pid int, dataDir string) bool {
	return strings.Contains(commandOf(pid), " -D "+dataDir+" ")
}

// stopOrphan ends the server that a killed parent left in dataDir: by a fast
// shutdown when the data is to be kept.
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
	killAll(pid)
	if !gone(pid, 10*time.Second) {
		return fmt.Errorf("server %d of %s, left by a process that was killed, does not end", pid, dataDir)
	}
	return nil
}

// gone waits for the end of a process that is not our child.
func gone(pid int, atMost time.Duration) bool {
	deadline := time.Now().Add(atMost)
	for alive(pid) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(2 * time.Millisecond)
	}
	return true
}

// stop ends a server in three steps, each harder than the one before; the last
// one cannot fail. A done context skips the waiting.
func (p *process) stop(ctx context.Context) {
	if p.ended() {
		return
	}
	_ = signalAll(p.pid, syscall.SIGCONT) // it may be paused
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
	killAll(p.pid)
	<-p.done
}
