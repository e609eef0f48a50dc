package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// many applies the action to the remaining targets, in the order in which they were
// accepted, created or refused.
func (s *shift) many(ctx context.Context) error {
	size := verbOf(s.run.Action).batch
	if s.run.PerSecond > 0 { // about one batch per second
		size = int(min(max(s.run.PerSecond, 1), float64(size)))
	}
	for at, more := find.Cursor(s.run.place), true; more; {
		page, err := s.page(ctx, s.run.Order, at)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(page.Rows, size) {
			if err := s.some(ctx, some); err != nil {
				return err
			}
		}
		at, more = page.Next, page.More
		if err := s.passed(ctx, string(at)); err != nil {
			return err
		}
	}
	return nil
}

// some applies the action to a batch of targets and moves the run's position past the
// batch.
func (s *shift) some(ctx context.Context, some []find.Found) error {
	counts := s.run.Counts
	taken := counts.take(s.run.Order, some)
	if len(taken) == 0 {
		s.run.Counts = counts
		return nil
	}
	if s.run.Most > 0 && counts.Selected > s.run.Most {
		return &ManyError{s.run.Most}
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.run.Counts = counts
	return verbOf(s.run.Action).do(ctx, s, string(some[len(some)-1].Cursor), taken)
}

// take counts the targets found, and returns the targets to which the action applies.
func (c *Counts) take(o Order, found []find.Found) []find.Found {
	var taken []find.Found
	for _, f := range found {
		switch {
		case f.Unclear != nil:
			bodiless := errors.Is(f.Unclear, find.ErrBodiless)
			if c.WhyUnclear == "" || !bodiless && c.Unclear == c.Bodiless { // the error of a failed condition is more useful than a missing body
				c.WhyUnclear = f.Unclear.Error()
			}
			c.Unclear++
			if bodiless {
				c.Bodiless++
			}
			continue
		case f.Unrendered && o.Action == ledger.ActionRetryEffect:
			c.Unrendered++
			continue
		case f.InDoubt:
			c.InDoubt++
			if !o.InDoubt {
				continue
			}
		}
		c.Selected++
		taken = append(taken, f)
	}
	return taken
}

// named returns the run's operator. The reason also names the run.
func (r Run) named() ledger.Operator {
	by := r.By
	if by.Reason != "" {
		by.Reason += " "
	}
	by.Reason += fmt.Sprintf("(run %d)", r.ID)
	return by
}
