package whatif

import (
	"context"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Differences compares the plans of one event.
func Differences(c *Comparison, ctx context.Context, e *inbox.Event) ([]Difference, error) { //nolint:revive // c stands for the receiver
	p, err := c.plan(ctx, e)
	if err != nil {
		return nil, err
	}
	return p.differences, nil
}

// Bounds of a Report.
const (
	MostGroups      = mostGroups
	MostExamples    = mostExamples
	MostExemplified = mostExemplified
	MostBody        = mostBody
)
