package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// maxOrderLocks bounds the advisory locks of a transaction that creates effects, because the
// server's lock table is small.
const maxOrderLocks = 128

// Cause is the event that created effects.
type Cause struct {
	identity.EventRef

	Type       string
	AcceptSeq  int64
	Generation int       // generation of its dispatch; above 1 for a replay
	OccurredAt time.Time // time of the event, or its receipt time if that is unknown
	Origin     identity.Origin
}

// Plan is the set of effects that one event creates.
type Plan struct {
	Cause   Cause
	Effects []NewEffect
	// Traceparent is the W3C trace context of the span that creates the effects.
	Traceparent string
	// Body and ContentType are those of the event's delivery, and Item is the event's position in
	// Body. An effect that sends the event as received, and is created in the state started, gets
	// its request's body from them. If Body is nil, LoadBody reads the body.
	Item        string
	ContentType string
	Body        []byte
}

// Planned reports which effects of a Plan were created and which were suppressed.
type Planned struct {
	// Created are the new effects, and the effects that a replay rendered. Parked effects, and most
	// effects that wait for their turn, have no job.
	Created    []identity.EffectID
	Suppressed []identity.EffectID // effects whose key an earlier event had used (I4)
	// Started are those effects of Created that were created in the state started, in the form in
	// which Claim returns effects. The process that commits them must execute and settle these
	// attempts.
	Started []Effect
}

// CreateTx writes the effects of plans that passed the fence, and the jobs of new effects. If alone
// is true, the transaction belongs to a caller and may take long: no effect is created in the state
// started.
func (l *Ledger) CreateTx(ctx context.Context, tx pgx.Tx, plans []Plan, alone bool) ([]Planned, error) {
	// again holds only the effects of replayed events. An effect that an earlier plan could not
	// render gets its content from a plan of its own event, not from another plan in the batch.
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

// share sorts the effects of p into created and suppressed effects. An effect in created belongs to
// the first event of the batch that plans it, and is suppressed for the others. An effect that was
// rendered again belongs to a replayed event.
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

// jobsOfNew returns one job for each created effect that can be attempted. In an order only the
// first effect gets a job, if jobsOfNew can find this effect without waiting. Otherwise every new
// effect gets a job, and the claim finds that it is not the effect's turn. This happens in a
// caller's transaction (alone), which may take long, in a transaction with more than maxOrderLocks
// orders, and while another transaction holds the order.
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

// newHeads locks the orders that no other transaction holds, and removes the others from orders. It
// returns the first effect of each locked order.
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
