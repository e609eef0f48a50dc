package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// totals prints results as they arrive and counts them.
type totals struct {
	out     io.Writer
	verbose bool // also print how mutants were noticed

	mu    sync.Mutex
	count map[verdict]int
}

func (t *totals) add(r result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		t.count = make(map[verdict]int)
	}
	t.count[r.verdict]++
	if r.verdict == leftOut {
		return
	}
	fmt.Fprintf(t.out, "%-8s %5.1f s  %s", r.verdict, r.took.Seconds(), r.mutant.Name)
	if len(r.by) > 0 {
		fmt.Fprintf(t.out, "  by %s", strings.Join(r.by, " "))
	}
	fmt.Fprintln(t.out)
	if r.verdict != killed || t.verbose {
		fmt.Fprintf(t.out, "    %s, %s\n    %s\n", r.mutant.At, r.mutant.Suite, strings.ReplaceAll(r.detail, "\n", "\n    "))
	}
}

// sum prints the number of mutants for each verdict.
func (t *totals) sum(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%d killed, %d survived, %d stale, %d broken, %d left out for lack of time (%.0f s)\n",
		t.count[killed], t.count[survived], t.count[stale], t.count[broken], t.count[leftOut], took.Seconds())
}

// err returns an error if a mutant was not killed. Mutants that were left out do not count.
func (t *totals) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count[survived]+t.count[stale]+t.count[broken] > 0 {
		return errNotKilled
	}
	return nil
}
