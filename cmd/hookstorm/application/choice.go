package application

import (
	"context"
	"math/rand/v2"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The actions of an order in the history.
const (
	actionReplay = "replay"
	actionRetry  = "retry"
	actionCancel = "cancel"
	actionPause  = "pause"
	actionResume = "resume"
)

// chooser finds something to order.
type chooser struct {
	box    *outbox.Outbox
	random *rand.Rand
}

// next returns an order, nil when it found nothing to do it to.
func (c *chooser) next(ctx context.Context) (*history.Order, error) {
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	switch n := c.random.IntN(10); {
	case n < 4:
		return c.replay(ctx)
	case n < 7:
		return c.onEffect(ctx, actionRetry, ledger.StatesFor(ledger.ActionRetryEffect))
	case n < 8:
		return c.onEffect(ctx, actionCancel, ledger.StatesFor(ledger.ActionCancelEffect))
	}
	destinations := scenario.Destinations()
	return &history.Order{Action: actionPause, Destination: destinations[c.random.IntN(len(destinations))].Name}, nil
}

// replay chooses among all events, not the latest only.
func (c *chooser) replay(ctx context.Context) (*history.Order, error) {
	latest, err := c.box.Inbox().Events(ctx, inbox.Filter{Limit: 1})
	if err != nil || len(latest) == 0 {
		return nil, err
	}
	from := 1 + c.random.Int64N(latest[0].AcceptSeq)
	events, err := c.box.Inbox().Events(ctx, inbox.Filter{Before: from + 1, Limit: 1})
	if err != nil || len(events) == 0 {
		return nil, err
	}
	return &history.Order{
		Action: actionReplay, Source: string(events[0].Source), EventID: string(events[0].EventID), NewKeys: c.random.IntN(2) == 0,
	}, nil
}

// onEffect chooses an effect in one of the states. It may have left that by the
// time of the order, which is then refused.
func (c *chooser) onEffect(ctx context.Context, action string, states []ledger.EffectState) (*history.Order, error) {
	effects, err := c.box.Ledger().Effects(ctx, ledger.EffectFilter{State: states[c.random.IntN(len(states))], Limit: 100})
	if err != nil || len(effects) == 0 {
		return nil, err
	}
	e := effects[c.random.IntN(len(effects))]
	return &history.Order{
		Action: action, Key: e.IdempotencyKey, Destination: e.Destination, Source: string(e.Event.Source), EventID: string(e.Event.EventID),
	}, nil
}
