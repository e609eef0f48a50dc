package main

import (
	"context"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// repairEvery is the number of rounds between two calls of repair that act. In the other rounds,
// at_most_once effects can finish.
const repairEvery = 8

// repair makes the database appear to be on another server, three times. The first time, Hooklatch
// follows the promotion automatically. The second time, an operator confirms a promotion without
// loss. The third time, an operator reports a restore.
func (a *actor) repair(ctx context.Context, round int) error {
	if round%repairEvery != 0 {
		return nil
	}
	if err := a.elsewhere(ctx); err == nil {
		_, _ = a.box.Repair().FollowPromotion(ctx) // the sweep expects errors
	}
	if err := a.elsewhere(ctx); err == nil {
		_ = a.box.Repair().Promoted(ctx, ledger.Operator{Who: who, Via: "sweep"})
	}
	if err := a.elsewhere(ctx); err != nil {
		return nil //nolint:nilerr // another round tries again
	}
	return a.speak(ctx)
}

// elsewhere marks the server as one that no operator has confirmed.
func (a *actor) elsewhere(ctx context.Context) error {
	_, err := a.pool.Exec(ctx, `UPDATE hooklatch.installation SET timeline = timeline - 1`)
	return err
}

// speak reports that the database was restored to a recent moment. The history records this as
// three actions without targets, because the actor does not know in advance which effects and
// destinations are affected.
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
