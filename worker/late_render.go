package worker

import (
	"context"
	"fmt"
	"slices"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// needsPerson is the outcome of an attempt whose event does not fit its route:
// trying again is useless until a person has changed the route.
func needsPerson(err error) *destination.Outcome {
	return &destination.Outcome{Verdict: outbox.VerdictNotApplied, Err: err, NeedsPerson: true}
}

// renderLate renders the effect of a route with a refetch, and commits the
// request before anything is sent: this and all later attempts send the same
// (I7). It returns nil, or the outcome of an attempt that had nothing to send.
// Routes are those of today.
func (w *Worker) renderLate(ctx context.Context, l *lane, effect *outbox.Effect) *destination.Outcome {
	unrenderable := func(format string, args ...any) *destination.Outcome {
		return needsPerson(fmt.Errorf(format, args...))
	}
	event, err := w.outbox.Event(ctx, effect.Event)
	if err != nil {
		out := notSent(fmt.Errorf("load event: %w", err))
		return &out
	}
	routes := w.routes.Load().routes
	at := slices.IndexFunc(routes, func(r *compiledRoute) bool { return r.Name == effect.Route })
	if at < 0 {
		return unrenderable("there is no route %q any more to render the effect", effect.Route)
	}
	r := routes[at]
	if r.To != l.Name {
		return unrenderable("route %q leads to %q now", r.Name, r.To)
	}
	scope := newEventScope(ctx, event)
	scope.maxBody = w.opts.maxBody(event.Source)
	if r.refetch != nil {
		if out := r.refetch.read(ctx, scope); out != nil {
			return out
		}
	}
	request, err := r.request.build(scope)
	if isInterrupted(err) {
		return &destination.Outcome{Verdict: outbox.VerdictNotApplied, Err: fmt.Errorf("route %q: %w", r.Name, err)}
	}
	if err != nil {
		return unrenderable("route %q: %w", r.Name, err)
	}
	if request.FromDelivery {
		request.FromDelivery, request.Body = false, event.Payload()
	}
	fixed, err := w.outbox.FixRequest(ctx, *effect, request)
	if err != nil {
		return &destination.Outcome{Verdict: outbox.VerdictNotApplied, Err: fmt.Errorf("keep rendered request: %w", err)}
	}
	*effect = fixed
	return nil
}
