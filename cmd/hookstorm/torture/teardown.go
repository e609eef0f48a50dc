package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// teardown ends what was started, the last first, once.
type teardown struct {
	steps []step
}

type step struct {
	name string
	end  func(ctx context.Context) error
}

// add remembers how to end what was just started.
func (t *teardown) add(name string, end func(ctx context.Context) error) {
	t.steps = append(t.steps, step{name, end})
}

// run ends everything; one that fails does not keep the others from ending.
func (t *teardown) run(ctx context.Context) error {
	var failed []error
	for _, s := range slices.Backward(t.steps) {
		if err := s.end(ctx); err != nil {
			failed = append(failed, fmt.Errorf("stop %s: %w", s.name, err))
		}
	}
	t.steps = nil
	return errors.Join(failed...)
}
