//go:build linux || darwin || freebsd

// Package family kills, pauses and resumes a process together with its children, such as
// a Postgres server with its backends.
package family

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Kill kills a process and its children, and waits up to 10 s for the children to exit. It first
// pauses the parent, which would otherwise see its children die and notify clients.
func Kill(pid int) {
	if pid <= 1 {
		return // 0 means our own process group, 1 is init
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	members := append(children(pid), pid)
	for _, member := range members {
		_ = syscall.Kill(member, syscall.SIGKILL)
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, member := range members {
		for member != pid && Alive(member) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
	}
}

// Pause freezes a process and its children: their connections stay open, but clients receive no
// responses.
func Pause(pid int) error { return signal(pid, syscall.SIGSTOP) }

// Resume reverses Pause.
func Resume(pid int) error { return signal(pid, syscall.SIGCONT) }

func signal(pid int, signal syscall.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("process %d is not running", pid)
	}
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

// Members returns the process and its children.
func Members(pid int) []int { return append(children(pid), pid) }

// Alive reports whether a process runs. A zombie does not run.
func Alive(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !ended(pid)
}
