package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// AddTx inserts one effect of the application in the transaction of the application's own writes,
// and reports whether its key was new. It sets the scope, queue, route and generation of e, and the
// policy if that is empty. cause is the event to link, or nil. Errors: ErrUnknownDestination.
func (l *Ledger) AddTx(ctx context.Context, tx pgx.Tx, e NewEffect, cause *Cause, traceparent string) (bool, error) {
	e.Scope, e.Generation = identity.ScopeOfEnqueue(e.Destination), 1
	return l.addTx(ctx, tx, e, cause, traceparent)
}

// addTx inserts an effect that no route creates, and reports whether its key was new. It sets the
// queue and route of e, and the policy if that is empty.
func (l *Ledger) addTx(ctx context.Context, tx pgx.Tx, e NewEffect, cause *Cause, traceparent string) (bool, error) {
	var queue string
	var policy Policy
	err := l.sql.QueueOf.With(ofDestination{Destination: e.Destination}).QueryRow(ctx, tx).Scan(&queue, &policy)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("%w %q", ErrUnknownDestination, e.Destination)
	}
	if err != nil {
		return false, fmt.Errorf("look up destination %q: %w", e.Destination, err)
	}
	e.Queue, e.Route = queue, ""
	e.Claim = nil // the caller commits the transaction and executes no attempt
	if e.Policy == "" {
		e.Policy = policy
	}
	if e.Request.FromDelivery || e.Request.Late || e.Parked != "" {
		return false, errors.New("its request must be complete")
	}
	if err := e.Validate(); err != nil {
		return false, err
	}
	var rows effectRows
	if err := rows.add(e, cause, traceparent); err != nil {
		return false, err
	}
	rows.Effects[0].AcceptSeq = nil // create_effects.sql assigns its position in an order
	created, err := rows.insert(ctx, tx, &l.sql)
	if err != nil {
		return false, err
	}
	if !created[e.EffectID] {
		if _, err := l.sql.WaitForStandby.Exec(ctx, tx); err != nil {
			return false, fmt.Errorf("wait for the standby: %w", err)
		}
	}
	jobs, err := l.jobsOfNew(ctx, tx, &rows, created, true)
	if err != nil {
		return false, err
	}
	if err := l.jobs.InsertEffects(ctx, tx, jobs); err != nil {
		return false, err
	}
	return created[e.EffectID], nil
}
