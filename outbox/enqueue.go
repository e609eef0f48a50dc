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

// Enqueue is an effect that the application enqueues.
type Enqueue struct {
	// Destination is the name of a destination that a worker has registered. Required.
	Destination string
	// Key is unique within the destination, 1 to 255 bytes. Required.
	Key identity.Key
	// Request is the request to send. It must be complete.
	Request ledger.Request
	// Policy decides what happens when an attempt may have been applied. Defaults to the
	// destination's policy.
	Policy ledger.Policy
	// OrderKey makes the effects of one destination with this key run one after another, in the
	// order in which they were enqueued. Empty: no order.
	OrderKey string
	// OnPark decides whether a parked effect blocks later effects of its order. Defaults to
	// ledger.OnParkBlock.
	OnPark ledger.OnPark
	// LatestKey identifies the effect's object. The effect is cancelled if a newer effect for the
	// same destination and object was already applied. LatestKey is also the OrderKey, which must
	// be empty or equal.
	LatestKey string
	// OccurredAt is the time of the change, for LatestKey. Arrival order decides ties. Zero: the time
	// of the linked event, if any.
	OccurredAt time.Time
}

// EnqueueTx inserts an effect of the application in the transaction of the application's own
// writes: effect and job exist if and only if tx commits. It reports whether the key was new for
// the destination. If the key was used before, nothing is enqueued. After an error the caller must
// roll back. Errors: ErrUnknownDestination.
//
// If ctx is a handler's context, or was created by ContextWithEvent, the effect is linked to that
// event, even if its key was used before.
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
