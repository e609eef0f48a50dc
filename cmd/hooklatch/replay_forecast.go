package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/route"
)

// forecaster predicts what a replay would do, with the current routes.
type forecaster struct {
	outbox  *outbox.Outbox
	table   *route.Table // nil without a configuration
	newKeys bool
	only    string // the only replayed route; empty for all routes
}

func (c *cli) forecaster(o *outbox.Outbox, newKeys bool, only string) forecaster {
	f := forecaster{outbox: o, newKeys: newKeys, only: only}
	if cfg, err := c.loadConfig(); err == nil {
		f.table, _ = app.Routes(cfg) // the check command reports the problems
	}
	return f
}

// forecast counts the effects that an event's replay creates, and the effects that it tries again.
// Done effects stay done, and unfinished effects continue.
type forecast struct{ fresh, again int }

// of predicts an event's replay. It returns false if no prediction is possible.
func (f forecaster) of(ctx context.Context, ref identity.EventRef) (forecast, bool, error) {
	e, err := f.outbox.Inbox().Event(ctx, ref)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && (f.table == nil || e.Body == nil || f.table.LeavesToHandlers(ref.Source)) {
		return forecast{}, false, nil
	}
	if err != nil {
		return forecast{}, false, err
	}
	e.OnlyRoute = f.only
	planned, err := f.table.Plan(ctx, e)
	if err != nil {
		return forecast{}, false, nil //nolint:nilerr // an evaluation took too long here
	}
	made, err := f.outbox.Ledger().EffectsOfEvent(ctx, ref)
	if err != nil {
		return forecast{}, false, err
	}
	var came forecast
	for _, p := range planned {
		if !f.newKeys {
			// Another event may have created the effect under the same key.
			_, err := f.outbox.Ledger().Effect(ctx, p.IdempotencyKey())
			if err == nil {
				continue
			}
			if !errors.Is(err, ledger.ErrNotFound) {
				return forecast{}, false, err
			}
		}
		came.fresh++
	}
	for _, m := range made {
		if m.State.Finished() && m.State != ledger.EffectDone && (f.only == "" || m.Scope == identity.ScopeOfRoute(ref.Source, f.only)) {
			came.again++
		}
	}
	return came, true, nil
}

func (f forecast) String() string {
	return fmt.Sprintf("%s created, %d tried again", counted(f.fresh, "new effect"), f.again)
}
