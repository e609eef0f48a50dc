package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// place is the position of an effect in its order.
type place struct {
	id        identity.EffectID
	order     string
	acceptSeq int64
}

func (p place) key() orderKey { return orderKey{Scope: p.id.Scope, OrderKey: p.order} }

// before reports whether p precedes other in their order. The comparison matches the sort order of
// the SQL statements.
func (p place) before(other place) bool {
	return cmp.Or(
		cmp.Compare(p.acceptSeq, other.acceptSeq),
		cmp.Compare(p.id.Key, other.id.Key),
		cmp.Compare(p.id.Generation, other.id.Generation),
	) < 0
}

func (e Effect) place() place {
	return place{id: e.EffectID, order: e.OrderKey, acceptSeq: e.AcceptSeq}
}

// head is an effect that waits for an attempt: the first unfinished effect of its order, or a
// reopened effect.
type head struct {
	place

	job riverjob.EffectJob
}

type inOrders struct{ Orders []orderKey }

func keysOf(orders map[orderKey]bool) inOrders {
	return inOrders{Orders: slices.Collect(maps.Keys(orders))}
}

// lockOrders waits for the locks of the orders. It runs after all row locks of the transaction, so
// that two transactions cannot deadlock. A later statement sees everything that earlier holders of
// the locks committed.
func (l *Ledger) lockOrders(ctx context.Context, tx pgx.Tx, orders map[orderKey]bool) error {
	if len(orders) == 0 {
		return nil
	}
	if _, err := l.sql.OrderLock.With(keysOf(orders)).Exec(ctx, tx); err != nil {
		return fmt.Errorf("lock orders: %w", err)
	}
	return nil
}

// tryLockOrders removes from orders every order that another transaction holds.
func (l *Ledger) tryLockOrders(ctx context.Context, tx pgx.Tx, orders map[orderKey]bool) error {
	rows, err := l.sql.OrderTryLock.With(keysOf(orders)).Query(ctx, tx)
	if err != nil {
		return fmt.Errorf("lock orders: %w", err)
	}
	var order orderKey
	var locked bool
	if _, err := pgx.ForEachRow(rows, []any{&order.Scope, &order.OrderKey, &locked}, func() error {
		if !locked {
			delete(orders, order)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("lock orders: %w", err)
	}
	return nil
}

// headsOf returns the first unfinished effects of locked orders. An order whose first effect is
// parked or being attempted is missing from the result.
func (l *Ledger) headsOf(ctx context.Context, tx pgx.Tx, orders map[orderKey]bool) ([]head, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	rows, err := l.sql.OrderHeads.With(keysOf(orders)).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("find first of orders: %w", err)
	}
	heads, err := pgx.CollectRows(rows, scanHead)
	if err != nil {
		return nil, fmt.Errorf("find first of orders: %w", err)
	}
	return heads, nil
}

func scanHead(row pgx.CollectableRow) (head, error) {
	var h head
	var state EffectState
	j := &h.job
	err := row.Scan(&j.ID.Scope, &j.ID.Key, &j.ID.Generation, &j.Destination, &j.Queue,
		&j.Event.Source, &j.Event.EventID, &j.EventType, &j.Origin, &j.Traceparent,
		&h.order, &h.acceptSeq, &state)
	h.id = j.ID
	return h, err
}

// wakeNext inserts jobs for the effects that are now first in their orders, because the effects in
// changed no longer block them. An effect lacks a live job only while an earlier effect of its
// order is unfinished. Each transaction looks up the first unfinished effect while it holds the
// lock on the order. So the transaction that finishes the last earlier effect finds no other
// unfinished effect before this one, and inserts its job. locked means that the caller already
// holds the locks on the orders.
func (l *Ledger) wakeNext(ctx context.Context, tx pgx.Tx, changed []place, locked bool) error {
	orders := make(map[orderKey]bool)
	byOrder := make(map[orderKey][]place)
	for _, p := range changed {
		if p.order != "" {
			orders[p.key()] = true
			byOrder[p.key()] = append(byOrder[p.key()], p)
		}
	}
	if len(orders) == 0 {
		return nil
	}
	if !locked {
		if err := l.lockOrders(ctx, tx, orders); err != nil {
			return err
		}
	}
	heads, err := l.headsOf(ctx, tx, orders)
	if err != nil {
		return err
	}
	var jobs []riverjob.EffectJob
	for _, h := range heads {
		for _, p := range byOrder[h.key()] {
			if p.before(h.place) {
				jobs = append(jobs, h.job)
				break
			}
		}
	}
	return l.jobs.InsertEffects(ctx, tx, jobs)
}
