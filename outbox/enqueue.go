package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Enqueue is an effect of the application's own.
type Enqueue struct {
	// Destination is where it goes: one that a worker has registered. Required.
	Destination string
	// Key is unique for the destination, 1 to 255 bytes. Required.
	Key identity.Key
	// Request is what it sends. It must be complete.
	Request ledger.Request
	// Policy is what happens when an attempt may have been applied. Empty: the
	// destination's.
	Policy ledger.Policy
	// OrderKey makes the effects of one destination and key run one after another,
	// in the order they were enqueued. Empty: in no order.
	OrderKey string
	// OnPark says whether a parked effect blocks those after it in its order.
	// Empty: ledger.OnParkBlock.
	OnPark ledger.OnPark
	// LatestKey names the object the effect is about: it is cancelled when a newer
	// one of the same destination and object was applied already. It implies an
	// OrderKey, which must be empty or the same.
	LatestKey string
	// OccurredAt is when it happened, for LatestKey; ties are decided by arrival.
	OccurredAt time.Time
}

// EnqueueTx commits an effect of the application's own together with its writes:
// effect and job exist exactly if tx commits. It reports whether the key was new for
// the destination: a key that was used before enqueues nothing. After an error the
// caller must roll back. Errors: ErrUnknownDestination.
//
// With the context of a handler, or another that ContextWithEvent made, the
// effect is linked to that event, also when its key was used before.
func (o *Outbox) EnqueueTx(ctx context.Context, tx pgx.Tx, e Enqueue) (bool, error) {
	created, err := o.ledger.AddTx(ctx, tx, ledger.NewEffect{
		EffectID:    identity.EffectID{Key: e.Key},
		Destination: e.Destination,
		Policy:      e.Policy,
		Request:     e.Request,
		OrderKey:    e.OrderKey,
		OnPark:      e.OnPark,
		LatestKey:   e.LatestKey,
		OccurredAt:  e.OccurredAt,
	}, causeOf(eventOf(ctx)), tracing.Parent(ctx))
	if err != nil {
		return false, fmt.Errorf("enqueue effect: %w", err)
	}
	return created, nil
}
