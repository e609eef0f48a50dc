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

// Claim asks for the right to start one attempt (T3).
type Claim struct {
	ID identity.EffectID
	// ClaimID is made by the worker for one run of the job: a claim that is
	// repeated because its answer was lost gets the same attempt.
	ClaimID uuid.UUID
	Lease   time.Duration // time-out of the attempt, and slack
	// JobID is that of the job that makes the attempt. 0: there is none, and the job that
	// the effect has waits until the lease ends.
	JobID int64
	// FirstRequest completes the request at the first claim: method, URL and
	// headers that are still empty in the ledger are taken from it and
	// committed with the claim, for every later attempt (I7).
	FirstRequest Request
	// KeyTTL is how long the receiver remembers a key. An effect that is in
	// doubt for longer is parked: the same key would not protect it any more.
	// 0: for ever.
	KeyTTL time.Duration
	// Probe lets the claim through a breaker that is not closed. An operator's
	// pause holds for it too. The attempt is not counted, unless another effect of
	// the destination succeeded after this one had failed: see Claimed.OwnFault.
	Probe bool
}

// ClaimStatus says whether an attempt may start.
type ClaimStatus string

// The answers to a claim.
const (
	ClaimGranted  ClaimStatus = "granted"  // start attempt Claimed.Effect.Attempt
	ClaimNotDue   ClaimStatus = "not_due"  // its next attempt is at Effect.NextAttemptAt
	ClaimLeased   ClaimStatus = "leased"   // another attempt runs until Effect.LeaseUntil
	ClaimFinished ClaimStatus = "finished" // nothing to do: Effect.State says why
	ClaimParked   ClaimStatus = "parked"   // this claim found it in doubt and parked it: Effect.Error says why
	// ClaimBlocked: an effect before it in its order is unfinished, or an event
	// before its own is not dispatched. See Claimed.Woken.
	ClaimBlocked ClaimStatus = "blocked"
	// ClaimSuperseded: a newer effect of the same object, Effect.SupersededBy,
	// was applied. This claim cancelled it, or one before did.
	ClaimSuperseded ClaimStatus = "superseded"
	// ClaimPaused: its destination is paused, by an operator or its breaker, or it is
	// withheld. See Claimed.Withheld.
	ClaimPaused  ClaimStatus = "paused"
	ClaimMissing ClaimStatus = "missing" // there is no such effect
)

// Claimed is the answer to a Claim.
type Claimed struct {
	Status ClaimStatus
	// Effect lacks the Request.Body that LoadBody fills in.
	Effect Effect
	// OwnFault is true when another effect of the destination succeeded after this
	// one had failed, or while it was refused again and again.
	OwnFault bool
	// Withheld is true for a ClaimPaused effect under AtMostOnce that the database was
	// restored under, or whose server gave its place to another: nobody has said yet
	// whether something that was done is missing. See package repair.
	Withheld bool
	// Woken is true for a ClaimBlocked effect whose turn comes with a new job:
	// the one that claimed may end. Otherwise it snoozes and asks again.
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

// Claim starts an attempt, in a transaction that it may share with others: the
// lease and the number of the attempt are committed when it returns. The
// commit does not depend on ctx. Errors: ErrBusy, ErrUnavailable, ErrClosed.
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

// LoadBody fills in the body that the attempts of e send, where Claim or Effect
// left it out. It does nothing while the request is still to be rendered. Errors:
// ErrNotFound when e sends a delivery that is no longer stored, ErrUnavailable.
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
	case d.body == nil: // it is large
		return l.db.Statement("load_body", func(db pipeline.ByIndex) error { return l.loadBody(ctx, db, e) })
	}
	d.fill(&e.Request)
	return nil
}

// loadBody fills in a body that claim.sql left out. A transaction that 64 effects
// share reads small ones only, so that what it holds is bounded.
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

// deliveryOf is what an event came in.
type deliveryOf struct {
	item        string // the event's part of it
	contentType string
	body        []byte
}

// fill makes the request one that sends the event as it came.
func (d deliveryOf) fill(r *Request) {
	r.Body = payload.Part(d.body, d.item)
	if r.ContentType == "" {
		r.ContentType = d.contentType
	}
}

type deliveriesOf struct{ Asked []identity.EventRef }

// deliveriesOf reads what several events came in; large bodies are left out.
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
			d.body = nil // the next row gets bytes of its own
			return nil
		})
		return err
	})
	return found, err
}
