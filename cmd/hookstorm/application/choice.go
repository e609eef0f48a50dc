package application

import (
	"context"
	"math/rand/v2"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/past"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The operator actions in the history.
const (
	actionReplay = "replay"
	actionErase  = "erase"
	actionRetry  = "retry"
	actionCancel = "cancel"
	actionPause  = "pause"
	actionResume = "resume"
)

// chooser chooses operator actions and their targets.
type chooser struct {
	box    *outbox.Outbox
	random *rand.Rand
}

// next returns an operator action, or nil if it found no target.
func (c *chooser) next(ctx context.Context) (*history.Order, error) {
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	switch n := c.random.IntN(10); {
	case n < 1:
		return c.erase(ctx)
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

// replay chooses an event to replay.
func (c *chooser) replay(ctx context.Context) (*history.Order, error) {
	e, err := c.event(ctx)
	if err != nil || e == nil {
		return nil, err
	}
	return &history.Order{Action: actionReplay, Source: string(e.Source), EventID: string(e.EventID), NewKeys: c.random.IntN(2) == 0}, nil
}

// erase chooses an event to erase. The erasure is refused while the event has unfinished work.
func (c *chooser) erase(ctx context.Context) (*history.Order, error) {
	e, err := c.event(ctx)
	if err != nil || e == nil {
		return nil, err
	}
	return &history.Order{Action: actionErase, Source: string(e.Source), EventID: string(e.EventID)}, nil
}

// event chooses among all events, not only the latest. It returns nil if no event exists, or if the
// chosen event belongs to package past.
func (c *chooser) event(ctx context.Context) (*inbox.Event, error) {
	latest, err := c.box.Finder().Events(ctx, find.Events{}, find.Beginning, 1)
	if err != nil || len(latest.Rows) == 0 {
		return nil, err
	}
	last := latest.Rows[0].AcceptSeq
	first := int64(1)
	if last > past.Reserved {
		first = past.Reserved + 1
	}
	back, err := c.box.Finder().Events(ctx, find.Events{}, find.BeforeEvent(first+1+c.random.Int64N(last-first+1)), 1)
	if err != nil || len(back.Rows) == 0 || back.Rows[0].Source == past.Source {
		return nil, err
	}
	return back.Rows[0], nil
}

// onEffect chooses an effect in one of the given states. The action is refused if the effect is in
// none of these states when the action runs.
func (c *chooser) onEffect(ctx context.Context, action string, states []ledger.EffectState) (*history.Order, error) {
	effects, err := c.box.Finder().Effects(ctx, find.Effects{States: []ledger.EffectState{states[c.random.IntN(len(states))]}}, find.Beginning, 100)
	if err != nil || len(effects.Rows) == 0 {
		return nil, err
	}
	e := effects.Rows[c.random.IntN(len(effects.Rows))]
	if e.Event.Source == past.Source { // no worker serves its destination
		return nil, nil
	}
	return &history.Order{
		Action: action, Key: e.IdempotencyKey, Destination: e.Destination, Source: string(e.Event.Source), EventID: string(e.Event.EventID),
	}, nil
}
