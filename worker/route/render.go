package route

import (
	"context"
	"fmt"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// Render renders a request that the plan left for later, because the route first reads the current
// state of an object. This read is a Table's only I/O. Render returns the request, or an outcome if
// the attempt has nothing to send.
func (t *Table) Render(ctx context.Context, e *inbox.Event, effect *ledger.Effect) (ledger.Request, *destination.Outcome) {
	r := t.named(effect.Route)
	if r == nil {
		return ledger.Request{}, needsPerson(fmt.Errorf("route %q, which would render the effect, no longer exists", effect.Route))
	}
	if r.To != effect.Destination {
		return ledger.Request{}, needsPerson(fmt.Errorf("route %q now leads to %q", r.Name, r.To))
	}
	scope := t.scope(ctx, e)
	if r.refetch != nil {
		if out := r.refetch.read(ctx, scope); out != nil {
			return ledger.Request{}, out
		}
	}
	request, err := r.request.build(scope)
	switch {
	case isInterrupted(err):
		return ledger.Request{}, &destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: r.failed(err)}
	case err != nil:
		return ledger.Request{}, needsPerson(r.failed(err))
	}
	if request.FromDelivery {
		request.FromDelivery, request.Body = false, e.Payload()
	}
	return request, nil
}

// needsPerson returns the outcome of an attempt whose event or effect does not fit the current
// routes: every further attempt would fail until an operator changes the routes.
func needsPerson(err error) *destination.Outcome {
	return &destination.Outcome{Verdict: ledger.VerdictNotApplied, Err: err, NeedsPerson: true}
}
