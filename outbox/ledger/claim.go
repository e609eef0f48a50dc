package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Claim requests the right to start one attempt (T3).
type Claim struct {
	ID identity.EffectID
	// ClaimID identifies the claim. The caller generates a new ClaimID for each attempt. If the
	// response to a claim was lost, a claim with the same ClaimID returns the same attempt.
	ClaimID uuid.UUID
	Lease   time.Duration // the attempt's timeout plus slack
	// JobID is the job that executes the attempt. 0: the caller executes the attempt without a job,
	// and the effect's existing job waits until the lease ends.
	JobID int64
	// FirstRequest completes the request at the first claim. It sets the method, URL and headers
	// that the stored request lacks. They are committed with the claim and apply to every later
	// attempt (I7).
	FirstRequest Request
	// KeyTTL is how long the receiver remembers a key. An effect in doubt for longer is parked,
	// because its key would no longer prevent a second application. 0: no limit.
	KeyTTL time.Duration
	// Probe allows the claim while the breaker is not closed, but not during an operator's pause.
	// The attempt is not counted, unless another effect of the destination has succeeded since this
	// effect failed: see Claimed.OwnFault.
	Probe bool
	// Repeated is true if the caller repeats the claim, with the same ClaimID, until it is answered.
	// An unanswered claim is then not taken back, because a repetition may be granted meanwhile.
	Repeated bool
}

// ClaimStatus is the result of a claim.
type ClaimStatus string

// The values of ClaimStatus.
const (
	ClaimGranted  ClaimStatus = "granted"  // start attempt Claimed.Effect.Attempt
	ClaimNotDue   ClaimStatus = "not_due"  // the next attempt is at Effect.NextAttemptAt
	ClaimLeased   ClaimStatus = "leased"   // another attempt holds the lease until Effect.LeaseUntil
	ClaimFinished ClaimStatus = "finished" // nothing to do: Effect.State says why
	ClaimParked   ClaimStatus = "parked"   // this claim found the effect in doubt and parked it: Effect.Error says why
	// ClaimBlocked means that an earlier effect of the order is unfinished, a later effect is
	// being attempted, or an earlier event is not dispatched. See Claimed.Woken.
	ClaimBlocked ClaimStatus = "blocked"
	// ClaimSuperseded means that a newer effect of the same object, Effect.SupersededBy, was
	// applied. This claim or an earlier one cancelled the effect.
	ClaimSuperseded ClaimStatus = "superseded"
	// ClaimPaused means that the destination is paused by an operator or its breaker, or that
	// the effect is withheld. See Claimed.Withheld.
	ClaimPaused  ClaimStatus = "paused"
	ClaimMissing ClaimStatus = "missing" // no such effect exists
)

// Claimed is the result of a Claim.
type Claimed struct {
	Status ClaimStatus
	// Effect may lack its Request.Body. LoadBody then reads the body.
	Effect Effect
	// OwnFault is true if another effect of the destination succeeded after this effect had failed, or
	// during this effect's current run of unauthorized responses.
	OwnFault bool
	// Withheld reports that a ClaimPaused effect under AtMostOnce may not start. The database was
	// restored or failed over, and no operator has confirmed yet whether work was lost. See package
	// repair.
	Withheld bool
	// Woken is true for a ClaimBlocked effect that gets a new job when its turn comes, so the
	// claiming job may end. Otherwise that job snoozes and claims again.
	Woken bool
}

func (c Claim) validate() error {
	if c.ClaimID == uuid.Nil {
		return errors.New("no claim id")
	}
	if c.Lease <= 0 {
		return fmt.Errorf("lease is %s; it must be positive", c.Lease)
	}
	if c.KeyTTL < 0 {
		return fmt.Errorf("key TTL is %s; it must not be negative", c.KeyTTL)
	}
	return nil
}

// Claim starts an attempt, if the effect may be attempted, in a transaction that may also commit
// other claims. If the status is ClaimGranted, the lease and the attempt's number are committed
// when Claim returns. The commit does not depend on ctx. Errors: ErrBusy, ErrUnavailable,
// ErrClosed.
func (l *Ledger) Claim(ctx context.Context, c Claim) (Claimed, error) {
	if err := c.validate(); err != nil {
		return Claimed{}, fmt.Errorf("claim effect: %w", err)
	}
	claimed, err := l.claims.Submit(context.WithoutCancel(ctx), c)
	if err != nil {
		return Claimed{}, fmt.Errorf("claim effect: %w", err)
	}
	return *claimed, nil
}

// LoadBody reads the body that the attempts of e send, if Claim or Effect omitted it. It does
// nothing while the request is not rendered yet. Errors: ErrNotFound if e sends a delivery that is
// no longer stored, ErrUnavailable.
func (l *Ledger) LoadBody(ctx context.Context, e *Effect) error {
	if e.Request.FromDelivery && e.Request.Body != nil {
		return nil
	}
	if !e.Request.FromDelivery {
		return l.db.Statement("load_body", func(db pipeline.ByIndex) error { return l.loadBody(ctx, db, e) })
	}
	d, found, err := l.deliveries.Get(ctx, e.Event)
	switch {
	case err != nil:
		return fmt.Errorf("load delivery of %s: %w", e.Event, err)
	case !found:
		return fmt.Errorf("load delivery of %s: %w", e.Event, ErrNotFound)
	case d.body == nil: // too large for the shared read
		return l.db.Statement("load_body", func(db pipeline.ByIndex) error { return l.loadBody(ctx, db, e) })
	}
	d.fill(&e.Request)
	return nil
}

// ShowBody is like LoadBody, but for display to operators: it uses none of the workers' connections.
// Errors: ErrNotFound if e sends a delivery that is no longer stored.
func (l *Ledger) ShowBody(ctx context.Context, e *Effect) error {
	if e.Request.FromDelivery && e.Request.Body != nil {
		return nil
	}
	return l.loadBody(ctx, pipeline.ByIndex{Sender: l.read}, e)
}

// loadBody reads a body that claim.sql omitted. Up to 64 claims share a transaction, which reads
// only small bodies, to bound its memory.
func (l *Ledger) loadBody(ctx context.Context, db statement.DB, e *Effect) error {
	if e.bodyApart {
		if err := l.sql.EffectBody.With(e.EffectID).QueryRow(ctx, db).Scan(&e.Request.Body); err != nil {
			return fmt.Errorf("load body of %s: %w", e.EffectID, err)
		}
	}
	if !e.Request.FromDelivery {
		return nil
	}
	var d deliveryOf
	err := l.sql.DeliveryOf.With(e.Event).QueryRow(ctx, db).Scan(&d.item, &d.contentType, &d.body)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("load delivery of %s: %w", e.Event, err)
	}
	d.fill(&e.Request)
	return nil
}

// deliveryOf is the delivery that contained an event.
type deliveryOf struct {
	item        string // the event's part of the body
	contentType string
	body        []byte
}

// fill sets the request's body to the event as received, and its content type if it has none.
func (d deliveryOf) fill(r *Request) {
	r.Body = payload.Part(d.body, d.item)
	if r.ContentType == "" {
		r.ContentType = d.contentType
	}
}

type deliveriesOf struct{ Asked []identity.EventRef }

// deliveriesOf reads the deliveries of several events, without large bodies.
func (l *Ledger) deliveriesOf(ctx context.Context, events []identity.EventRef) (map[identity.EventRef]deliveryOf, error) {
	found := make(map[identity.EventRef]deliveryOf, len(events))
	err := l.db.Statement("load_bodies", func(db pipeline.ByIndex) error {
		rows, err := l.sql.DeliveriesOf.With(deliveriesOf{Asked: events}).Query(ctx, db)
		if err != nil {
			return err
		}
		var ref identity.EventRef
		var d deliveryOf
		_, err = pgx.ForEachRow(rows, []any{&ref.Source, &ref.EventID, &d.item, &d.contentType, &d.body}, func() error {
			found[ref] = d
			d.body = nil // the scan of the next row must allocate new bytes
			return nil
		})
		return err
	})
	return found, err
}
