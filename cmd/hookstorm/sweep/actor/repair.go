package main

import (
	"context"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// repairEvery is in how many rounds the database changes its server once: meanwhile
// at_most_once effects come to their end by themselves.
const repairEvery = 8

// repair has the database on another server, as far as its workers can tell, and says
// what happened: in turn nothing, and a restore.
func (a *actor) repair(ctx context.Context, round int) error {
	if round%repairEvery != 0 {
		return nil
	}
	if err := a.elsewhere(ctx); err == nil {
		_, _ = a.box.Repair().FollowPromotion(ctx) // errors are what the sweep is for
	}
	if err := a.elsewhere(ctx); err == nil {
		_ = a.box.Repair().Promoted(ctx, ledger.Operator{Who: who, Via: "sweep"})
	}
	if err := a.elsewhere(ctx); err != nil {
		return nil //nolint:nilerr // it is tried in another round
	}
	return a.speak(ctx)
}

// elsewhere makes the server one that nobody has spoken of.
func (a *actor) elsewhere(ctx context.Context) error {
	_, err := a.pool.Exec(ctx, `UPDATE hooklatch.installation SET timeline = timeline - 1`)
	return err
}

// speak says that the database was restored to a moment ago. Which effects and
// destinations that is done to nobody knows before.
func (a *actor) speak(ctx context.Context) error {
	by := ledger.Operator{Who: who, Via: "sweep"}
	restored := func(ledger.Operator) error {
		_, err := a.box.Repair().Restored(ctx, time.Now().Add(-time.Second), nil, by, nil)
		return err
	}
	order := restored
	for _, action := range []string{"park", "pause", "resume"} {
		inner := order
		order = func(ledger.Operator) error { return a.order(ctx, history.Order{Action: action}, inner) }
	}
	return order(by)
}
