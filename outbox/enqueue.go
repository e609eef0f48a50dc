package outbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/ledger"
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
func (o *Outbox) EnqueueTx(ctx context.Context, tx pgx.Tx, e ledger.NewEffect) (bool, error) {
	created, err := o.ledger.AddTx(ctx, tx, e, causeOf(eventOf(ctx)), tracing.Parent(ctx))
	if err != nil {
		return false, fmt.Errorf("enqueue effect: %w", err)
	}
	return created, nil
}
