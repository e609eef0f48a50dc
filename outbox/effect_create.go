package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
)

// maxOrderLocks bounds the advisory locks of one dispatch: the server's table of
// locks is small.
const maxOrderLocks = 128

// createEffects writes the effects of plans that passed the fence, and the jobs
// of the new ones. alone tells that the transaction is somebody else's.
func (o *Outbox) createEffects(ctx context.Context, tx pgx.Tx, plans []Dispatch, alone bool) ([]Dispatched, error) {
	// again are the effects of replayed plans only: what an earlier plan of theirs
	// could not render becomes what they say, not what a neighbour says.
	var rows, again effectRows
	results := make([]Dispatched, len(plans))
	for i, d := range plans {
		results[i] = Dispatched{Fenced: true, Outcome: d.outcome()}
		for _, e := range d.Effects {
			if err := rows.add(e, d.Event, d.traceparent()); err != nil {
				return nil, err
			}
			if d.Event.Generation == 1 {
				continue
			}
			if err := again.add(e, d.Event, d.traceparent()); err != nil {
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
	rendered := make(map[identity.EffectID]bool)
	if len(again.scopes) > 0 {
		if rendered, err = again.render(ctx, tx, o.sql.renderEffects); err != nil {
			return nil, err
		}
	}
	jobs, err := o.jobsOfNew(ctx, tx, &rows, created, alone)
	if err != nil {
		return nil, err
	}
	more, err := o.jobsOfNew(ctx, tx, &again, rendered, alone)
	if err != nil {
		return nil, err
	}
	if err := o.jobs.InsertEffects(ctx, tx, append(jobs, more...)); err != nil {
		return nil, err
	}
	for i, d := range plans {
		results[i].share(d, created, rendered)
	}
	return results, nil
}

// share says which effects of d are its own. What is in created goes to the
// first event that names it, the next one with its key is suppressed; what was
// rendered again belongs to a replayed one.
func (r *Dispatched) share(d Dispatch, created, rendered map[identity.EffectID]bool) {
	for _, e := range d.Effects {
		switch {
		case created[e.EffectID]:
			delete(created, e.EffectID)
			r.Created = append(r.Created, e.EffectID)
		case d.Event.Generation > 1 && rendered[e.EffectID]:
			delete(rendered, e.EffectID)
			r.Created = append(r.Created, e.EffectID)
		default:
			r.Suppressed = append(r.Suppressed, e.EffectID)
		}
	}
}

// jobsOfNew returns one job for each effect that was created and can be
// attempted. Of an order only the first gets one, where that can be told without
// waiting: in a transaction of somebody else's (alone), which may last, or while
// another holds the order, every new effect gets one. Its claim then says that it
// is not its turn.
func (o *Outbox) jobsOfNew(ctx context.Context, tx pgx.Tx, rows *effectRows, created map[identity.EffectID]bool, alone bool) ([]riverjob.EffectJob, error) {
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
	jobs := make([]riverjob.EffectJob, 0, len(created))
	for i := range rows.scopes {
		if !created[rows.id(i)] || rows.parked[i] != "" {
			continue
		}
		if orders[orderKey{scope: rows.scopes[i], key: rows.orderKeys[i]}] && !heads[rows.id(i)] {
			continue
		}
		jobs = append(jobs, rows.job(i))
	}
	return jobs, nil
}

// newHeads locks the orders that nobody else holds, forgets the others, and
// returns the first effects of those it got.
func (o *Outbox) newHeads(ctx context.Context, tx pgx.Tx, orders map[orderKey]bool) (map[identity.EffectID]bool, error) {
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
	ids := make(map[identity.EffectID]bool, len(heads))
	for _, head := range heads {
		ids[head.id] = true
	}
	return ids, nil
}
