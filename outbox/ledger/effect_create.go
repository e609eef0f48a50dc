package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// maxOrderLocks bounds the advisory locks of one dispatch: the server's table of
// locks is small.
const maxOrderLocks = 128

// Cause is the event that makes effects.
type Cause struct {
	identity.EventRef

	Type       string
	AcceptSeq  int64
	Generation int       // of its dispatch: above 1 it is replayed
	OccurredAt time.Time // when it happened, or else was received
	Origin     identity.Origin
}

// Plan is what one event leads to.
type Plan struct {
	Cause   Cause
	Effects []NewEffect
	// Traceparent is the W3C trace context of the span that creates the effects.
	Traceparent string
	// Body and ContentType are of the delivery of which Item is the event, for effects
	// that send it and begin with their first attempt. Without Body it is read for them.
	Item        string
	ContentType string
	Body        []byte
}

// Planned says which effects of a Plan are its own.
type Planned struct {
	Created    []identity.EffectID // new effects; each has its job, or waits for its turn
	Suppressed []identity.EffectID // effects whose key an earlier event had used (I4)
	// Started are those of Created that began with their first attempt, as Claim would
	// return them: whoever commits them has to make it, and to settle it.
	Started []Effect
}

// CreateTx writes the effects of plans that passed the fence, and the jobs of the
// new ones. alone says that the transaction is a caller's own and may last: no effect
// begins with its first attempt in one.
func (l *Ledger) CreateTx(ctx context.Context, tx pgx.Tx, plans []Plan, alone bool) ([]Planned, error) {
	// again are the effects of replayed plans only: what an earlier plan of theirs
	// could not render becomes what they say, not what a neighbour says.
	var rows, again effectRows
	results := make([]Planned, len(plans))
	for _, p := range plans {
		for _, e := range p.Effects {
			if alone {
				e.Claim = nil
			}
			if err := rows.add(e, &p.Cause, p.Traceparent); err != nil {
				return nil, err
			}
			if p.Cause.Generation == 1 {
				continue
			}
			if err := again.add(e, &p.Cause, p.Traceparent); err != nil {
				return nil, err
			}
		}
	}
	if len(rows.Effects) == 0 {
		return results, nil
	}
	created, err := rows.insert(ctx, tx, &l.sql)
	if err != nil {
		return nil, err
	}
	rendered := make(map[identity.EffectID]bool)
	if len(again.Effects) > 0 {
		if rendered, err = again.render(ctx, tx, &l.sql); err != nil {
			return nil, err
		}
	}
	jobs, err := l.jobsOfNew(ctx, tx, &rows, created, alone)
	if err != nil {
		return nil, err
	}
	more, err := l.jobsOfNew(ctx, tx, &again, rendered, alone)
	if err != nil {
		return nil, err
	}
	if err := l.jobs.InsertEffects(ctx, tx, append(jobs, more...)); err != nil {
		return nil, err
	}
	for i, p := range plans {
		results[i].share(p, created, rendered)
		if results[i].Started, err = rows.started(p, results[i].Created); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// share says which effects of p are its own. What is in created goes to the
// first event that names it, the next one with its key is suppressed; what was
// rendered again belongs to a replayed one.
func (r *Planned) share(p Plan, created, rendered map[identity.EffectID]bool) {
	for _, e := range p.Effects {
		switch {
		case created[e.EffectID]:
			delete(created, e.EffectID)
			r.Created = append(r.Created, e.EffectID)
		case p.Cause.Generation > 1 && rendered[e.EffectID]:
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
func (l *Ledger) jobsOfNew(ctx context.Context, tx pgx.Tx, rows *effectRows, created map[identity.EffectID]bool, alone bool) ([]riverjob.EffectJob, error) {
	orders := make(map[orderKey]bool)
	for _, e := range rows.Effects {
		if e.OrderKey != "" && created[e.EffectID] {
			orders[e.order()] = true
		}
	}
	if alone || len(orders) > maxOrderLocks {
		clear(orders)
	}
	heads, err := l.newHeads(ctx, tx, orders)
	if err != nil {
		return nil, err
	}
	jobs := make([]riverjob.EffectJob, 0, len(created))
	for _, e := range rows.Effects {
		if !created[e.EffectID] || e.Parked != "" {
			continue
		}
		if orders[e.order()] && !heads[e.EffectID] {
			continue
		}
		job := e.job()
		job.Origin = rows.origins[e.EffectID]
		if b, began := rows.begun[e.EffectID]; began {
			job.JobID, job.NotBefore = b.jobID, b.leaseUntil
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// newHeads locks the orders that nobody else holds, forgets the others, and
// returns the first effects of those it got.
func (l *Ledger) newHeads(ctx context.Context, tx pgx.Tx, orders map[orderKey]bool) (map[identity.EffectID]bool, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	if err := l.tryLockOrders(ctx, tx, orders); err != nil {
		return nil, err
	}
	heads, err := l.headsOf(ctx, tx, orders)
	if err != nil {
		return nil, err
	}
	ids := make(map[identity.EffectID]bool, len(heads))
	for _, head := range heads {
		ids[head.id] = true
	}
	return ids, nil
}
