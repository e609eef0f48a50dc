package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
)

// verdict is the result of a mutant.
type verdict string

const (
	killed   verdict = "killed"
	survived verdict = "SURVIVED"
	stale    verdict = "STALE"  // the original code or the test no longer exists
	broken   verdict = "BROKEN" // the entry is invalid: for example, the mutant does not compile
	leftOut  verdict = "left out"
)

// result is the verdict on one mutant, with its reasons.
type result struct {
	mutant  mutant.Mutant
	verdict verdict
	by      []string // the tests that failed
	detail  string   // reason for the verdict; for a killed mutant, the tests' output
	took    time.Duration
}

// runner tries mutants, several at a time.
type runner struct {
	root  string
	limit time.Duration // limit for tests of a mutant without its own limit

	mu     sync.Mutex
	suites map[mutant.Suite]*baseline
}

// baseline is the result of a suite without any mutant. The suite must pass, or its failure with a
// mutant is meaningless.
type baseline struct {
	once   sync.Once
	detail string // reason why the baseline is useless
	err    error
}

// all tries the mutants and reports each result as it arrives. When ctx is done, mutants that are
// untried or unfinished are left out.
func (r *runner) all(ctx context.Context, mutants []mutant.Mutant, parallel int, report func(result)) {
	next := make(chan mutant.Mutant)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for m := range next {
				report(r.one(ctx, m))
			}
		})
	}
	for _, m := range mutants {
		next <- m
	}
	close(next)
	workers.Wait()
}

func (r *runner) one(ctx context.Context, m mutant.Mutant) result {
	start := time.Now()
	out := result{mutant: m, verdict: leftOut}
	var err error
	if ctx.Err() == nil {
		out.verdict, out.by, out.detail, err = r.judge(ctx, m)
	}
	switch {
	case ctx.Err() != nil && (err != nil || out.verdict == leftOut):
		out.verdict = leftOut
	case err != nil:
		out.verdict, out.detail = broken, err.Error()
	}
	out.took = time.Since(start)
	return out
}

func (r *runner) judge(ctx context.Context, m mutant.Mutant) (verdict, []string, string, error) {
	if detail, err := r.baselineOf(ctx, m); err != nil || detail != "" {
		return broken, nil, detail, err
	}
	changed, err := m.Mutated(r.root)
	if err != nil {
		return stale, nil, "", err
	}
	t, err := try(ctx, r.root, m.Suite, r.limitOf(m), changed)
	switch {
	case err != nil:
		return broken, nil, "", err
	case t.broken != "":
		return broken, nil, t.broken + "\n" + tail(t.output), nil
	case t.timedOut && !m.Hangs:
		return survived, nil, "its tests exceeded the time limit, and the entry does not contain hangs", nil
	case t.passed:
		return survived, nil, m.Why, nil
	case len(t.failed) == 0:
		return broken, nil, "no test failed, but the program did\n" + tail(t.output), nil
	case t.brokenSQL(changed):
		return broken, t.failed, "the changed SQL is invalid\n" + tail(t.output), nil
	}
	return killed, t.failed, tail(t.output), nil
}

// baselineOf runs a mutant's suite on the unchanged code, once per suite. It returns the reason why
// the suite cannot judge mutants, or "" if the suite passed.
func (r *runner) baselineOf(ctx context.Context, m mutant.Mutant) (string, error) {
	r.mu.Lock()
	b, known := r.suites[m.Suite]
	if !known {
		b = new(baseline)
		if r.suites == nil {
			r.suites = make(map[mutant.Suite]*baseline)
		}
		r.suites[m.Suite] = b
	}
	r.mu.Unlock()
	b.once.Do(func() {
		t, err := try(ctx, r.root, m.Suite, max(r.limitOf(m), r.limit), nil)
		switch {
		case err != nil:
			b.err = err
		case t.ran < len(m.Suite.Names()):
			b.detail = fmt.Sprintf("%s runs %d tests\n%s", m.Suite, t.ran, tail(t.output))
		case !t.passed:
			b.detail = fmt.Sprintf("%s fails without any mutant\n%s", m.Suite, tail(t.output))
		}
	})
	return b.detail, b.err
}

func (r *runner) limitOf(m mutant.Mutant) time.Duration {
	if m.Limit > 0 {
		return m.Limit
	}
	return r.limit
}

// tail returns the end of a test's output.
func tail(output string) string {
	const lines = 30
	all := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// errNotKilled is returned if a mutant was not killed.
var errNotKilled = errors.New("not every mutant was killed")
