package checker

import (
	"fmt"
	"iter"
	"math"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// forever is the end of an operation whose outcome is unknown.
const forever = math.MaxInt64

// gatherer reads a history into facts.
type gatherer struct {
	facts  *facts
	totals *Totals

	// Operations that have not ended, by id.
	deliveries map[int64]*delivery
	calls      map[int64]*call
	enqueues   map[int64]*enqueue
	orders     map[int64]*order
	deploys    map[int64]*deployment
}

func gather(records iter.Seq2[history.Record, error]) (*facts, Totals, error) {
	totals := Totals{Results: make(map[string]map[string]int)}
	g := gatherer{
		facts: newFacts(), totals: &totals, deliveries: make(map[int64]*delivery), calls: make(map[int64]*call),
		enqueues: make(map[int64]*enqueue), orders: make(map[int64]*order), deploys: make(map[int64]*deployment),
	}
	for r, err := range records {
		if err == nil {
			err = g.take(&r)
		}
		if err != nil {
			return nil, totals, err
		}
	}
	g.countUnfinished()
	return g.facts, totals, nil
}

func (g *gatherer) take(r *history.Record) error {
	switch r.Op {
	case history.OpDeliver:
		return g.delivery(r)
	case history.OpCall:
		return g.call(r)
	case history.OpEnqueue:
		return g.enqueue(r)
	case history.OpOrder:
		return g.order(r)
	case history.OpDeploy:
		return g.deploy(r)
	case history.OpTable:
		g.totals.count("row", r.Table)
		return g.facts.row(r)
	case history.OpFault:
		g.fault(r)
	case history.OpRun:
		if r.Run != nil {
			g.facts.run = *r.Run
		}
	case history.OpProcess, history.OpPhase: // informative only
	}
	return nil
}

// missing returns the error for a record whose content does not fit its op.
func missing(r *history.Record, what string) error {
	return fmt.Errorf("%s %d of %s at %d µs: %s", r.Op, r.ID, r.Who, r.At, what)
}

const (
	noMember = "it has no member named after its op"
	noBegin  = "it ends an operation that never began or has already ended"
)

// end removes and returns the open operation that r ends.
func end[T any](open map[int64]*T, r *history.Record) (*T, error) {
	o := open[r.ID]
	if o == nil {
		return nil, missing(r, noBegin)
	}
	delete(open, r.ID)
	return o, nil
}

// endOf returns the time at which an operation ended. It returns forever if the outcome is unknown,
// because the operation may still take effect later.
func endOf(r *history.Record) int64 {
	if r.Kind == history.Unknown {
		return forever
	}
	return r.At
}

func (g *gatherer) delivery(r *history.Record) error {
	told := r.Delivery
	if told == nil {
		return missing(r, noMember)
	}
	if r.Kind == history.Invoke {
		d := &delivery{source: told.Source, hash: told.Hash, signed: told.Signed, listed: told.Listed, began: r.At, ended: forever, kind: history.Unknown}
		for _, id := range told.EventIDs {
			e := g.facts.event(told.Source, id)
			e.deliveries = append(e.deliveries, d)
			d.events = append(d.events, e)
		}
		g.facts.deliveries = append(g.facts.deliveries, d)
		g.deliveries[r.ID] = d
		return nil
	}
	d, err := end(g.deliveries, r)
	if err != nil {
		return err
	}
	d.kind, d.status, d.ended = r.Kind, told.Status, endOf(r)
	if d.mayCount() && !d.acknowledged() {
		d.ended = forever
	}
	if d.acknowledged() {
		d.accepted, d.known = told.Result == resultAccepted, told.Result == resultDuplicate
		g.totals.Acked++
	}
	g.totals.count(string(history.OpDeliver), resultOfDelivery(r))
	return nil
}

func (g *gatherer) call(r *history.Record) error {
	told := r.Call
	if told == nil {
		return missing(r, noMember)
	}
	if r.Kind == history.Invoke {
		c := &call{key: told.Key, destination: told.Destination, hash: told.Hash, began: r.At, ended: forever}
		own := ownKey(told.Key)
		g.facts.calls[own] = append(g.facts.calls[own], c)
		g.calls[r.ID] = c
		return nil
	}
	c, err := end(g.calls, r)
	if err != nil {
		return err
	}
	c.applied, c.known, c.status, c.ended = told.Applied, told.Known, told.Status, r.At
	g.totals.count(string(history.OpCall), resultOfCall(told))
	return nil
}

func (g *gatherer) enqueue(r *history.Record) error {
	if r.Enqueue == nil {
		return missing(r, noMember)
	}
	if r.Kind == history.Invoke {
		e := &enqueue{Enqueue: *r.Enqueue, kind: history.Unknown}
		id := idOfEnqueue(r.Enqueue)
		g.facts.enqueues[id] = append(g.facts.enqueues[id], e)
		g.enqueues[r.ID] = e
		return nil
	}
	e, err := end(g.enqueues, r)
	if err != nil {
		return err
	}
	e.kind = r.Kind
	g.totals.count(string(history.OpEnqueue), resultOfEnqueue(e))
	return nil
}

func idOfEnqueue(e *history.Enqueue) identity.EffectID {
	id := identity.EffectID{Scope: identity.ScopeOfEnqueue(e.Destination), Key: identity.Key(e.Key), Generation: 1}
	if e.Resends != "" {
		id.Scope = identity.ScopeOfResend(e.Resends)
	}
	return id
}

func (g *gatherer) order(r *history.Record) error {
	if r.Order == nil {
		return missing(r, noMember)
	}
	if r.Kind == history.Invoke {
		o := &order{Order: *r.Order, began: r.At, ended: forever, kind: history.Unknown}
		g.facts.orders = append(g.facts.orders, o)
		g.orders[r.ID] = o
		return nil
	}
	o, err := end(g.orders, r)
	if err != nil {
		return err
	}
	o.Order, o.kind, o.ended = *r.Order, r.Kind, endOf(r)
	g.totals.count(string(history.OpOrder), r.Order.Action+" "+string(r.Kind))
	return nil
}

func (g *gatherer) fault(r *history.Record) {
	if r.Fault == nil || r.Kind != history.OK {
		return
	}
	if r.Fault.Simulated {
		g.totals.count(string(history.OpFault), r.Fault.Kind+" (simulated)")
		return
	}
	g.totals.count(string(history.OpFault), r.Fault.Kind)
	g.totals.Faults++
	g.facts.faults[r.Fault.Kind]++
}

// countUnfinished counts the operations without an end record.
func (g *gatherer) countUnfinished() {
	for op, n := range map[history.Op]int{
		history.OpDeliver: len(g.deliveries), history.OpCall: len(g.calls), history.OpEnqueue: len(g.enqueues), history.OpOrder: len(g.orders),
	} {
		if n > 0 {
			g.totals.Results[string(op)] = addTo(g.totals.Results[string(op)], "never ended", n)
		}
	}
}
