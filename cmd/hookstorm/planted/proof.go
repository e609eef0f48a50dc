package planted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
)

// Proof selects the schedules to run, and the number of runs.
type Proof struct {
	Cases []Case
	Times int // runs of each case with its bug; without the bug, each case runs once
	// Tries is the maximum number of runs until the checker must have found the bug. A busy machine
	// may delay a schedule so much that a run shows nothing. Defaults to 1.
	Tries int
	// AtOnce is the maximum number of simultaneous runs. Runs mostly wait, and need little CPU.
	AtOnce int
}

// Row is the result of all runs of a case.
type Row struct {
	Case    Case
	Found   int // runs in which the checker found the bug
	Times   int
	Longest time.Duration
	Message string // message of the first run that found the bug
	Faults  []error
}

// Prove runs the schedules. In each run with the bug, or in the last of its tries, one of the case's
// rules must report it. Without the bug, the checker must report nothing. The error names the bugs
// whose cases fail. Prove returns the rows even then.
func (h *Hunt) Prove(ctx context.Context, p Proof) ([]Row, error) {
	rows := make([]Row, len(p.Cases))
	slots := make(chan struct{}, max(p.AtOnce, 1))
	var mu sync.Mutex
	var running sync.WaitGroup
	run := func(row *Row, bug bugs.Bug) {
		slots <- struct{}{}
		defer func() { <-slots }()
		for left := max(p.Tries, 1) - 1; ; left-- {
			found, err := h.Run(ctx, row.Case, bug)
			again := err == nil && bug != "" && found.Message() == "" && left > 0
			mu.Lock()
			row.add(found, bug, err, again)
			mu.Unlock()
			if !again {
				return
			}
		}
	}
	for i, c := range p.Cases {
		rows[i].Case = c
	}
	for n := range max(p.Times, 1) {
		for i, c := range p.Cases {
			running.Go(func() { run(&rows[i], c.Bug) })
			if n == 0 {
				running.Go(func() { run(&rows[i], "") })
			}
		}
	}
	running.Wait()
	var errs []error
	for _, row := range rows {
		for _, err := range row.Faults {
			errs = append(errs, fmt.Errorf("%s: %w", row.Case.Bug, err))
		}
	}
	return rows, errors.Join(errs...)
}

// add adds the result of a run. If the case runs again, it is no fault that the run found nothing.
func (r *Row) add(f Found, bug bugs.Bug, err error, again bool) {
	if err != nil {
		r.Faults = append(r.Faults, err)
		return
	}
	if bug == "" {
		for _, v := range f.Verdict.Violations {
			r.Faults = append(r.Faults, fmt.Errorf("a violation was reported in code without a bug: %s: %s (%s)", v.Rule, v.Text, f.History))
		}
		return
	}
	r.Times++
	r.Longest = max(r.Longest, f.Took)
	message := f.Message()
	if again {
		return
	}
	if message == "" {
		r.Faults = append(r.Faults, fmt.Errorf("not found by %v, but %s (%s)", r.Case.Rules, rulesOf(f), f.History))
		return
	}
	r.Found++
	if r.Message == "" {
		r.Message = message
	}
}

// rulesOf lists the reported violations with their rules, for an error message.
func rulesOf(f Found) string {
	var names []string
	for _, v := range f.Verdict.Violations {
		names = append(names, string(v.Rule)+": "+v.Text)
	}
	if len(names) == 0 {
		return "nothing was"
	}
	return strings.Join(slices.Compact(names), "; ")
}

// Print writes a table with one row for each bug: how often it was found, the longest run in
// seconds, the schedule, and the message.
func Print(w io.Writer, rows []Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "bug\tfound\tseconds\tschedule\tmessage")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%d of %d\t%.1f\t%s\t%s\n", r.Case.Bug, r.Found, r.Times, r.Longest.Seconds(), r.Case.Schedule, r.Message)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print table of planted bugs: %w", err)
	}
	return nil
}
