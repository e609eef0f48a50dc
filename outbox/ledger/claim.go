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
	// ClaimID is made by the worker for one run of the job. A claim repeated because its answer
	// was lost gets the same attempt.
	ClaimID uuid.UUID
	Lease   time.Duration // time-out of the attempt plus slack
	// JobID is the job that makes the attempt. 0: none, and the effect's existing job waits
	// until the lease ends.
	JobID int64
	// FirstRequest completes the request at the first claim. It fills in the method, URL and
	// headers that are empty in the ledger. They are committed with the claim, for every later
	// attempt (I7).
	FirstRequest Request
	// KeyTTL is how long the receiver remembers a key. An effect in doubt for longer is parked,
	// because the same key would no longer protect it. 0: for ever.
	KeyTTL time.Duration
	// Probe lets the claim through a breaker that is not closed, but not through an operator's
	// pause. The attempt is not counted, unless another effect of the destination has succeeded
	// since this one failed: see Claimed.OwnFault.
	Probe bool
}

// ClaimStatus is the answer to a claim.
type ClaimStatus string

// The values of ClaimStatus.
const (
	ClaimGranted  ClaimStatus = "granted"  // start attempt Claimed.Effect.Attempt
	ClaimNotDue   ClaimStatus = "not_due"  // its next attempt is at Effect.NextAttemptAt
	ClaimLeased   ClaimStatus = "leased"   // another attempt runs until Effect.LeaseUntil
	ClaimFinished ClaimStatus = "finished" // nothing to do: Effect.State says why
	ClaimParked   ClaimStatus = "parked"   // this claim found the effect in doubt and parked it: Effect.Error says why
	// ClaimBlocked means that an earlier effect of its order is unfinished, a later one is
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

// Claimed is the answer to a Claim.
type Claimed struct {
	Status ClaimStatus
	// Effect lacks its Request.Body, which LoadBody fills in.
	Effect Effect
	// OwnFault is true if another effect of the destination succeeded after this one had
	// failed, or during its current run of unauthorized answers.
	OwnFault bool
	// Withheld reports that a ClaimPaused effect under AtMostOnce may not start: the database was
	// restored or failed over, and no operator has confirmed yet whether work was lost. See
	// package repair.
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
		return fmt.Errorf("lease is %s, it must be positive", c.Lease)
	}
	if c.KeyTTL < 0 {
		return fmt.Errorf("key TTL is %s, it must not be negative", c.KeyTTL)
	}
	return nil
}

// Claim starts an attempt, in a transaction that it may share with other claims. When it
// returns, the lease and the attempt's number are committed. The commit does not depend on ctx.
// Errors: ErrBusy, ErrUnavailable, ErrClosed.
func (l *Ledger) Claim(ctx context.Context, c Claim) (Claimed, error) {
	if err := c.validate(); err != nil {
		return Claimed{}, fmt.Errorf("claim effect: %w", err)
	}
	claimed, err := l.claims.Submit(context.WithoutCancel(ctx), c)
	if err != nil {
		return Claimed{}, fmt.Errorf("claim effect: %w", err)
	}
	return claimed, nil
}

// LoadBody fills in the body that the attempts of e send, where Claim or Effect omitted it. It
// does nothing while the request is still to be rendered. Errors: ErrNotFound if e sends a
// delivery that is no longer stored, ErrUnavailable.
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

// loadBody fills in a body that claim.sql omitted. A transaction shared by 64 effects reads
// only small bodies, so that its memory is bounded.
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

// fill makes the request send the event as it was received.
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
			d.body = nil // the next row gets its own bytes
			return nil
		})
		return err
	})
	return found, err
}
