// Package meter measures the costs of a bench: the CPU time of each process from /proc, its
// memory, and the WAL that Postgres writes.
package meter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU times in /proc: 1/USER_HZ s. USER_HZ is 100 on every Linux that Go
// runs on.
const clockTick = 10 * time.Millisecond

// Indexes of fields of /proc/PID/stat according to proc(5), counted after the name of the program,
// which is in parentheses and may contain anything.
const (
	fieldParent    = 1
	fieldUser      = 11
	fieldSystem    = 12
	fieldWaitedSys = 14 // system time of exited children that the process waited for; the field before is their user time
)

// statOf returns the fields of /proc/PID/stat after the name of the program, or nil if the file
// cannot be read.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= fieldWaitedSys {
		return nil
	}
	return fields
}

// ticks returns the sum of fields that count clock ticks.
func ticks(fields []string) time.Duration {
	var sum int64
	for _, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err == nil {
			sum += n
		}
	}
	return time.Duration(sum) * clockTick
}

// Known reports whether the CPU time and the memory of processes can be read on this machine.
func Known() bool { return statOf(os.Getpid()) != nil }

// CPU returns the CPU time that a process has used so far, or 0 if it is unknown.
func CPU(pid int) time.Duration {
	fields := statOf(pid)
	if fields == nil {
		return 0
	}
	return ticks(fields[fieldUser : fieldSystem+1])
}

// Server returns the CPU time that a Postgres server has used so far, or 0 if it is unknown. The
// time includes the server's running and exited child processes. The parameter except lists
// processes to exclude, such as a bench's own backends.
func Server(postmaster int, except ...int) time.Duration {
	own := statOf(postmaster)
	if own == nil {
		return 0
	}
	sum := ticks(own[fieldUser : fieldWaitedSys+1])
	for _, pid := range children(postmaster) {
		if slices.Contains(except, pid) {
			continue
		}
		sum += CPU(pid)
	}
	return sum
}

// children returns the process ids of a process's children.
func children(parent int) []int {
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil // the pattern is valid
	}
	var pids []int
	for _, path := range found {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err == nil && Parent(pid) == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Parent returns the id of a process's parent, or 0 if it is unknown.
func Parent(pid int) int {
	fields := statOf(pid)
	if fields == nil {
		return 0
	}
	parent, _ := strconv.Atoi(fields[fieldParent]) // a number, according to proc(5)
	return parent
}

// Self returns the CPU time that this process has used so far.
func Self() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
