package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

// stopGrace is the extra time that a step may take after its timeout: a step that gives up at its
// timeout needs a moment to return.
const stopGrace = 100 * time.Millisecond

// Teardown undoes steps in reverse order of their registration. The zero value is ready for use.
type Teardown struct {
	// Logger logs the steps that have stopped, and the errors of minor steps. If nil, nothing is
	// logged.
	Logger *slog.Logger

	mu    sync.Mutex
	steps []step
}

type step struct {
	name    string
	timeout time.Duration
	stop    func(context.Context) error
	minor   bool // true if Run only logs the step's error
}

// errStillRunning is the error of a step that did not return within its timeout.
var errStillRunning = errors.New("is still running")

// Add registers a step. Call it immediately after creating the object that the step undoes. The
// timeout limits only this step. The timeout of Run limits all steps together.
func (t *Teardown) Add(name string, timeout time.Duration, stop func(context.Context) error) {
	t.add(step{name: name, timeout: timeout, stop: stop})
}

// AddMinor is like Add, for a step that no accepted delivery and no effect needs, such as the
// telemetry export. Run logs the step's error at WARN and does not return it.
func (t *Teardown) AddMinor(name string, timeout time.Duration, stop func(context.Context) error) {
	t.add(step{name: name, timeout: timeout, stop: stop, minor: true})
}

func (t *Teardown) add(s step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, s)
}

// Run undoes everything even if steps fail, and returns at most stopGrace after the given timeout.
// A step that does not return is left running, and steps for which no time remains are skipped. The
// error names both, except for minor steps left running. Run may be called again: each step runs
// only once.
func (t *Teardown) Run(ctx context.Context, timeout time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var errs []error
	for len(t.steps) > 0 {
		if ctx.Err() != nil {
			errs = append(errs, fmt.Errorf("the stop took longer than %s: not stopped: %s", timeout, strings.Join(t.names(), ", ")))
			t.steps = nil
			break
		}
		last := t.steps[len(t.steps)-1]
		t.steps = t.steps[:len(t.steps)-1]
		if err := last.run(ctx); err != nil && last.minor {
			t.log(ctx, slog.LevelWarn, "could not stop "+last.name, slog.Any(logkey.Err, err))
		} else if err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", last.name, err))
		} else {
			t.log(ctx, slog.LevelDebug, "stopped "+last.name)
		}
	}
	return errors.Join(errs...)
}

func (t *Teardown) log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	if t.Logger != nil {
		t.Logger.LogAttrs(ctx, level, message, attrs...)
	}
}

// names returns the names of the remaining steps, in the order in which they would run.
func (t *Teardown) names() []string {
	var names []string
	for _, s := range slices.Backward(t.steps) {
		names = append(names, s.name)
	}
	return names
}

// run stops the step. It returns at most stopGrace after the step's timeout, even if the step is
// still running.
func (s step) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.stop(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case err := <-ended:
		return err
	case <-grace.C:
		return errStillRunning
	}
}

// unbounded adapts a stop function without a context: Teardown limits its time.
func unbounded(stop func()) func(context.Context) error {
	return func(context.Context) error {
		stop()
		return nil
	}
}
