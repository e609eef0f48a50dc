package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/tracing"
)

// EnqueueTx commits an effect of the application's own together with its
// writes: effect and job exist exactly if tx commits. Of e it takes
// Destination, Key, Request, OrderKey, OnPark, LatestKey and OccurredAt; Policy
// is the destination's unless e has one.
// It reports whether the key was new for the destination: a key that was used
// before enqueues nothing. After an error the caller must roll back. Errors:
// ErrUnknownDestination.
//
// With the context of a handler, or another that ContextWithEvent made, the
// effect is linked to that event, also when its key was used before.
func (o *Outbox) EnqueueTx(ctx context.Context, tx pgx.Tx, e NewEffect) (bool, error) {
	var queue string
	var policy Policy
	err := tx.QueryRow(ctx, o.sql.queueOf, e.Destination).Scan(&queue, &policy)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("enqueue effect: %w %q", ErrUnknownDestination, e.Destination)
	}
	if err != nil {
		return false, fmt.Errorf("enqueue effect: look up destination %q: %w", e.Destination, err)
	}
	e.Scope, e.Queue, e.Route, e.Generation = identity.ScopeOfEnqueue(e.Destination), queue, "", 1
	if e.Policy == "" {
		e.Policy = policy
	}
	if e.Request.FromDelivery || e.Request.Late || e.Parked != "" {
		return false, errors.New("enqueue effect: its request must be complete")
	}
	if err := e.validate(); err != nil {
		return false, fmt.Errorf("enqueue effect: %w", err)
	}
	var rows effectRows
	if err := rows.add(e, eventOf(ctx), tracing.Parent(ctx)); err != nil {
		return false, fmt.Errorf("enqueue effect: %w", err)
	}
	rows.acceptSeqs[0] = nil // it has its place in an order by when it was enqueued
	created, err := rows.insert(ctx, tx, o.sql.createEffects)
	if err != nil {
		return false, fmt.Errorf("enqueue effect: %w", err)
	}
	jobs, err := o.jobsOfNew(ctx, tx, &rows, created, true)
	if err != nil {
		return false, fmt.Errorf("enqueue effect: %w", err)
	}
	if err := o.jobs.InsertEffects(ctx, tx, jobs); err != nil {
		return false, fmt.Errorf("enqueue effect: %w", err)
	}
	return created[e.EffectID], nil
}

// Destination is where effects go, as workers register it.
type Destination struct {
	Name       string
	Kind       string // http, email, ...
	Queue      string // River queue
	Policy     Policy // empty: AtLeastOnce
	ConfigHash string
}

// RegisterDestinations makes destinations known to EnqueueTx. It changes
// nothing when they are known already. Errors: ErrUnavailable.
func (o *Outbox) RegisterDestinations(ctx context.Context, destinations []Destination) error {
	var names, kinds, queues, policies, hashes []string
	for _, d := range destinations {
		names, kinds, queues = append(names, d.Name), append(kinds, d.Kind), append(queues, d.Queue)
		policies = append(policies, string(NewEffect{Policy: d.Policy}.policy()))
		hashes = append(hashes, d.ConfigHash)
	}
	err := o.transact(ctx, workTimeout, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := tx.Exec(ctx, o.sql.registerDestinations, names, kinds, queues, policies, hashes)
		return err
	})
	if err != nil {
		return fmt.Errorf("register destinations: %w", err)
	}
	return nil
}
