package console

import (
	"context"
	"net/http"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/pretty"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// effectOrder is an order on effects in certain states.
type effectOrder struct {
	order

	action ledger.Action
}

var effectOrders = []effectOrder{
	{action: ledger.ActionRetryEffect, order: order{
		Name: "retry", Button: "Retry", Done: "Retry ordered and recorded.",
		Means: "It is attempted again at once, with the same key and the same body. A receiver that knows the key applies it no second time.",
		do: func(c *Console, ctx context.Context, key string, by ledger.Operator) error {
			return c.ledger.Retry(ctx, key, by)
		},
	}},
	{action: ledger.ActionParkEffect, order: order{
		Name: "park", Button: "Park", Done: "Parked and recorded.",
		Means: "It is put aside until a person retries or cancels it. An attempt that runs may still be applied.",
		do: func(c *Console, ctx context.Context, key string, by ledger.Operator) error {
			return c.ledger.Park(ctx, key, by)
		},
	}},
	{action: ledger.ActionCancelEffect, order: order{
		Name: "cancel", Button: "Cancel", Done: "Cancelled and recorded.",
		Means: "It is given up, and not attempted any more. An attempt that runs may still be applied. It can be retried later.",
		do: func(c *Console, ctx context.Context, key string, by ledger.Operator) error {
			return c.ledger.Cancel(ctx, key, by)
		},
	}},
}

// ordersFor are those that can be given to an effect as it is.
func ordersFor(e ledger.Effect) (can []effectOrder) {
	for _, o := range effectOrders {
		if slices.Contains(ledger.StatesFor(o.action), e.State) {
			can = append(can, o)
		}
	}
	return can
}

// effectOrderOf is the order that a URL names.
func (c *Console) effectOrderOf(r *http.Request) (o effectOrder, what asked, err error) {
	at := slices.IndexFunc(effectOrders, func(o effectOrder) bool { return o.Name == r.PathValue("action") })
	if at < 0 {
		return o, what, c.nowhere(nil, r)
	}
	o = effectOrders[at]
	e, err := c.readEffect(r)
	if err != nil {
		return o, what, err
	}
	what = asked{
		order: o.order, Heading: o.Button + " this effect?", Target: e.IdempotencyKey,
		Of: middle(e.IdempotencyKey) + " to " + e.Destination + ", " + pretty.Effect(e.State).Word, Back: effectPath(e.IdempotencyKey), noSuch: noSuchEffect,
	}
	if o.action == ledger.ActionRetryEffect && e.Policy == ledger.AtMostOnce && !e.MaybeAppliedSince.IsZero() {
		what.Button = "Retry once more"
		what.Doubt = "An attempt was started and nobody knows what came of it: the receiver may have applied it. The effect is at_most_once, and retrying may apply it twice."
	}
	if !slices.Contains(ledger.StatesFor(o.action), e.State) && r.Method == http.MethodGet { // an order says why by itself
		return o, what, &ledger.StateError{Action: o.action, State: e.State}
	}
	return o, what, nil
}

func (c *Console) askEffect(w http.ResponseWriter, r *http.Request) error {
	_, what, err := c.effectOrderOf(r)
	if err != nil {
		return err
	}
	return c.ask(w, r, "effects", what)
}

func (c *Console) orderEffect(w http.ResponseWriter, r *http.Request) error {
	_, what, err := c.effectOrderOf(r)
	if err != nil {
		return err
	}
	return c.carryOut(w, r, "effects", what)
}
