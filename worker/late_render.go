package worker

import (
	"context"
	"fmt"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// renderLate renders the effect of a route with a refetch, and commits the
// request before anything is sent: this and all later attempts send the same
// (I7). It returns nil, or the outcome of an attempt that had nothing to send.
// Routes are those of today.
func (w *Worker) renderLate(ctx context.Context, effect *outbox.Effect) *destination.Outcome {
	event, err := w.outbox.Event(ctx, effect.Event)
	if err != nil {
		out := notSent(fmt.Errorf("load event: %w", err))
		return &out
	}
	request, out := w.routes.Load().Render(ctx, event, effect)
	if out != nil {
		return out
	}
	fixed, err := w.outbox.FixRequest(ctx, *effect, request)
	if err != nil {
		return &destination.Outcome{Verdict: outbox.VerdictNotApplied, Err: fmt.Errorf("keep rendered request: %w", err)}
	}
	*effect = fixed
	return nil
}
