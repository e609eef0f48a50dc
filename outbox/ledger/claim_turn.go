package ledger

import (
	"context"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// turn holds the reasons why an ordered effect may not start.
type turn struct {
	behind       bool   // an earlier effect of its order is unfinished
	early        bool   // a later effect is being attempted, or an earlier event is not dispatched
	supersededBy string // idempotency key of the newer effect applied to the same object
}

// takeTurns checks the orders of the effects that claimRound locked, and starts, parks or
// cancels the effects whose turn it is. It updates answers.
func (l *Ledger) takeTurns(ctx context.Context, tx pgx.Tx, batch []Claim, answers map[identity.EffectID]*claimAnswer) error {
	orders := make(map[orderKey]bool)
	var waiting []Claim
	for _, c := range batch {
		if answer := answers[c.ID]; answer != nil && answer.verdict == verdictTurn {
			waiting = append(waiting, c)
			orders[answer.Effect.place().key()] = true
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	if err := l.lockOrders(ctx, tx, orders); err != nil {
		return err
	}
	turns, err := l.turnsOf(ctx, tx, waiting)
	if err != nil {
		return err
	}
	var mine []Claim
	superseded := make(map[identity.EffectID]string)
	started := make(map[orderKey]bool)
	for _, c := range waiting {
		answer, t := answers[c.ID], turns[c.ID]
		order := answer.Effect.place().key()
		switch {
		// A lost attempt continues even if new effects were inserted before it. The new effects
		// wait for its end.
		case !answer.lost && (t.behind || t.early || started[order]):
			answer.Status, answer.Woken = ClaimBlocked, t.behind
		case t.supersededBy != "":
			superseded[c.ID] = t.supersededBy
		default:
			started[order] = true
			mine = append(mine, c)
		}
	}
	if err := l.supersede(ctx, tx, superseded, answers); err != nil {
		return err
	}
	if len(mine) > 0 {
		granted, err := l.claimRound(ctx, tx, mine, true)
		if err != nil {
			return err
		}
		maps.Copy(answers, granted)
	}
	var changed []place
	for _, c := range waiting {
		answer := answers[c.ID]
		if answer.Status == ClaimParked || answer.Status == ClaimSuperseded {
			changed = append(changed, answer.Effect.place())
		}
	}
	return l.wakeNext(ctx, tx, changed, true)
}

type orderTurns struct{ Asked []identity.EffectID }

func (l *Ledger) turnsOf(ctx context.Context, tx pgx.Tx, waiting []Claim) (map[identity.EffectID]turn, error) {
	asked := make([]identity.EffectID, 0, len(waiting))
	for _, c := range waiting {
		asked = append(asked, c.ID)
	}
	rows, err := l.sql.OrderTurns.With(orderTurns{Asked: asked}).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("check orders: %w", err)
	}
	turns := make(map[identity.EffectID]turn, len(waiting))
	var id identity.EffectID
	var t turn
	if _, err := pgx.ForEachRow(rows, []any{&id.Scope, &id.Key, &id.Generation, &t.behind, &t.early, &t.supersededBy}, func() error {
		turns[id] = t
		return nil
	}); err != nil {
		return nil, fmt.Errorf("check orders: %w", err)
	}
	return turns, nil
}

type supersededRow struct {
	identity.EffectID

	SupersededBy string
}

type supersede struct{ Superseded []supersededRow }

// supersede cancels effects that newer effects of the same object replace.
func (l *Ledger) supersede(ctx context.Context, tx pgx.Tx, by map[identity.EffectID]string, answers map[identity.EffectID]*claimAnswer) error {
	if len(by) == 0 {
		return nil
	}
	superseded := make([]supersededRow, 0, len(by))
	for id, newer := range by {
		superseded = append(superseded, supersededRow{EffectID: id, SupersededBy: newer})
	}
	rows, err := l.sql.Supersede.With(supersede{Superseded: superseded}).Query(ctx, tx)
	if err != nil {
		return fmt.Errorf("supersede effects: %w", err)
	}
	var id identity.EffectID
	var reason string
	if _, err := pgx.ForEachRow(rows, []any{&id.Scope, &id.Key, &id.Generation, &reason}, func() error {
		answer := answers[id]
		answer.Status = ClaimSuperseded
		answer.Effect.State, answer.Effect.SupersededBy, answer.Effect.Error = EffectCancelled, by[id], reason
		return nil
	}); err != nil {
		return fmt.Errorf("supersede effects: %w", err)
	}
	return nil
}
