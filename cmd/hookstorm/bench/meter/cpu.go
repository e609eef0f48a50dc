// Package meter measures what a bench costs: the CPU of each process from /proc, the
// memory it holds, and the WAL that Postgres writes.
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

// clockTick is USER_HZ, which is 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// Fields of /proc/PID/stat behind the name of the program, which may contain anything
// and stands in parentheses: proc(5).
const (
	fieldParent    = 1
	fieldUser      = 11
	fieldSystem    = 12
	fieldWaitedSys = 14 // of children that ended and were waited for; user before it
)

// statOf reads /proc/PID/stat; nil for a process that there is not.
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

// ticks adds fields up.
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

// Known says whether this machine tells what processes use.
func Known() bool { return statOf(os.Getpid()) != nil }

// CPU is what a process has used so far, 0 for one that there is not.
func CPU(pid int) time.Duration {
	fields := statOf(pid)
	if fields == nil {
		return 0
	}
	return ticks(fields[fieldUser : fieldSystem+1])
}

// Server is what a Postgres server has used so far: the postmaster, the processes
// below it that run, and those that ended. Except leaves out those of a bench that
// looks on.
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

// children are the processes that another has started.
func children(parent int) []int {
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil // the pattern is right
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

// Parent is the process that started another, 0 when it is not known.
func Parent(pid int) int {
	fields := statOf(pid)
	if fields == nil {
		return 0
	}
	parent, _ := strconv.Atoi(fields[fieldParent]) // a number, by proc(5)
	return parent
}

// Self is what this process has used so far.
func Self() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
