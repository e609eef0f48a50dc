package route

import (
	"context"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Forecast returns the effects of Plan for display. Each request is complete, as the first claim
// would store it, with the body that a forward sends. The request stays empty if the first attempt
// renders it, or if it cannot be rendered.
func (t *Table) Forecast(ctx context.Context, e *inbox.Event) ([]ledger.NewEffect, error) {
	effects, err := t.Plan(ctx, e)
	if err != nil {
		return nil, err
	}
	at := 0 // the plan follows the order of the routes
	for i := range effects {
		planned := &effects[i]
		for t.routes[at].Name != planned.Route {
			at++
		}
		if planned.Request.Late || planned.Unrendered() {
			continue
		}
		planned.Request = planned.Request.CompletedBy(t.routes[at].target.Sender.FirstRequest(&ledger.Effect{
			EffectID: planned.EffectID, IdempotencyKey: planned.IdempotencyKey(), Destination: planned.Destination,
		}))
		if planned.Request.FromDelivery {
			planned.Request.Body = e.Payload()
		}
	}
	return effects, nil
}
