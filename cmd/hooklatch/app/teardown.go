package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Teardown undoes steps in the opposite order of their registration. The zero
// value is ready for use.
type Teardown struct {
	// Logger gets a line for each step that fails; nil: none.
	Logger *slog.Logger

	mu    sync.Mutex
	steps []step
}

type step struct {
	name    string
	timeout time.Duration
	stop    func(context.Context) error
}

// Add registers a step, right after what it undoes exists. The timeout bounds
// the step alone: a slow one leaves the others their time.
func (t *Teardown) Add(name string, timeout time.Duration, stop func(context.Context) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, step{name, timeout, stop})
}

// Run undoes everything, whatever fails on the way. It may be called again: a
// step is undone once.
func (t *Teardown) Run(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for len(t.steps) > 0 {
		last := t.steps[len(t.steps)-1]
		t.steps = t.steps[:len(t.steps)-1]
		if err := last.run(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", last.name, err))
		} else if t.Logger != nil {
			t.Logger.LogAttrs(ctx, slog.LevelDebug, "stopped "+last.name)
		}
	}
	return errors.Join(errs...)
}

func (s step) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.stop(ctx)
}

// bounded makes a stop that cannot be told to hurry give up when ctx is done.
func bounded(stop func()) func(context.Context) error {
	return func(ctx context.Context) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			stop()
		}()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
