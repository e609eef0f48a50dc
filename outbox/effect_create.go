package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// maxOrderLocks bounds the advisory locks of one dispatch: the server's table of
// locks is small.
const maxOrderLocks = 128

// createEffects writes the effects of plans that passed the fence, and the jobs
// of the new ones. alone tells that the transaction is somebody else's.
func (o *Outbox) createEffects(ctx context.Context, tx pgx.Tx, plans []Dispatch, alone bool) ([]Dispatched, error) {
	var rows effectRows
	results := make([]Dispatched, len(plans))
	replayed := false
	for i, d := range plans {
		results[i] = Dispatched{Fenced: true, Outcome: d.outcome()}
		replayed = replayed || d.Event.Generation > 1
		for _, e := range d.Effects {
			if err := rows.add(e, d.Event, d.traceparent()); err != nil {
				return nil, err
			}
		}
	}
	if len(rows.scopes) == 0 {
		return results, nil
	}
	created, err := rows.insert(ctx, tx, o.sql.createEffects)
	if err != nil {
		return nil, err
	}
	if replayed {
		rendered, err := rows.render(ctx, tx, o.sql.renderEffects)
		if err != nil {
			return nil, err
		}
		for id := range rendered {
			created[id] = true
		}
	}
	jobs, err := o.jobsOfNew(ctx, tx, &rows, created, alone)
	if err != nil {
		return nil, err
	}
	if err := o.insertJobs(ctx, tx, jobs); err != nil {
		return nil, err
	}
	for i, d := range plans {
		for _, e := range d.Effects {
			if created[e.EffectID] {
				delete(created, e.EffectID) // the next event with this key is suppressed
				results[i].Created = append(results[i].Created, e.EffectID)
				continue
			}
			results[i].Suppressed = append(results[i].Suppressed, e.EffectID)
		}
	}
	return results, nil
}

// jobsOfNew returns one job for each effect that was created and can be
// attempted. Of an order only the first gets one, where that can be told without
// waiting: in a transaction of somebody else's (alone), which may last, or while
// another holds the order, every new effect gets one. Its claim then says that it
// is not its turn.
func (o *Outbox) jobsOfNew(ctx context.Context, tx pgx.Tx, rows *effectRows, created map[EffectID]bool, alone bool) ([]river.InsertManyParams, error) {
	orders := make(map[orderKey]bool)
	for i := range rows.scopes {
		if rows.orderKeys[i] != "" && created[rows.id(i)] {
			orders[orderKey{scope: rows.scopes[i], key: rows.orderKeys[i]}] = true
		}
	}
	if alone || len(orders) > maxOrderLocks {
		clear(orders)
	}
	heads, err := o.newHeads(ctx, tx, orders)
	if err != nil {
		return nil, err
	}
	jobs := make([]river.InsertManyParams, 0, len(created))
	for i := range rows.scopes {
		if !created[rows.id(i)] || rows.parked[i] != "" {
			continue
		}
		if orders[orderKey{scope: rows.scopes[i], key: rows.orderKeys[i]}] && !heads[rows.id(i)] {
			continue
		}
		jobs = append(jobs, o.effectJob(rows.job(i)))
	}
	return jobs, nil
}

// newHeads locks the orders that nobody else holds, forgets the others, and
// returns the first effects of those it got.
func (o *Outbox) newHeads(ctx context.Context, tx pgx.Tx, orders map[orderKey]bool) (map[EffectID]bool, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	if err := o.tryLockOrders(ctx, tx, orders); err != nil {
		return nil, err
	}
	heads, err := o.headsOf(ctx, tx, orders)
	if err != nil {
		return nil, err
	}
	ids := make(map[EffectID]bool, len(heads))
	for _, head := range heads {
		ids[head.place.id] = true
	}
	return ids, nil
}
