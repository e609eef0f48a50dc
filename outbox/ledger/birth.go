package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// birthRow is the claim with which an effect is created, as create_effects.sql reads it. A lease of
// 0 means that the effect has no claim.
type birthRow struct {
	ClaimID      uuid.UUID
	LeaseSeconds float64
	FirstMethod  string
	FirstURL     string
	FirstHeaders []byte
}

// begun is the result of create_effects.sql for an effect that was created in the state started.
type begun struct {
	jobID         int64
	leaseUntil    time.Time
	lastAttemptAt time.Time
	nextAttemptAt time.Time
	createdAt     time.Time
}

// validateBirth returns an error if the effect's claim is invalid, or if the effect cannot start
// when it is created. Such an effect might have to be parked because of doubt, or must wait for
// other effects or for its rendered request.
func (e NewEffect) validateBirth() error {
	switch {
	case e.Claim == nil:
		return nil
	case e.policy() != AtLeastOnce, e.orderKey() != "", e.rendering() != renderingDone:
		return errors.New("it cannot begin with its first attempt")
	}
	return e.Claim.validate()
}

// birth returns the claim of the first attempt, or a zero row if e has none.
func (e NewEffect) birth() (birthRow, error) {
	if e.Claim == nil {
		return birthRow{}, nil
	}
	headers, err := column.Headers(e.Claim.FirstRequest.Headers)
	if err != nil {
		return birthRow{}, fmt.Errorf("encode headers: %w", err)
	}
	return birthRow{
		ClaimID:      e.Claim.ClaimID,
		LeaseSeconds: e.Claim.Lease.Seconds(),
		FirstMethod:  e.Claim.FirstRequest.Method,
		FirstURL:     e.Claim.FirstRequest.URL,
		FirstHeaders: headers,
	}, nil
}

// started returns the effects in created that create_effects.sql created in the state started. They
// equal the effects that Claim returns, except for fields that only a claim sets.
func (r *effectRows) started(p Plan, created []identity.EffectID) ([]Effect, error) {
	var started []Effect
	for _, id := range created {
		b, began := r.begun[id]
		if !began {
			continue
		}
		e, err := r.Effects[r.index[id]].started(b)
		if err != nil {
			return nil, err
		}
		if e.Request.FromDelivery && p.Body != nil {
			deliveryOf{item: p.Item, contentType: p.ContentType, body: p.Body}.fill(&e.Request)
		}
		started = append(started, e)
	}
	return started, nil
}

// started returns the effect as create_effects.sql wrote it. Its request must equal the request
// that later attempts read (I7).
func (r effectRow) started(b begun) (Effect, error) {
	request := Request{Method: r.RequestMethod, URL: r.RequestURL, ContentType: r.RequestType, Body: r.RequestBody, FromDelivery: r.RequestBody == nil}
	if request.Method == "" {
		request.Method = r.FirstMethod
	}
	if request.URL == "" {
		request.URL = r.FirstURL
	}
	for _, headers := range [][]byte{r.FirstHeaders, r.RequestHeaders} { // RequestHeaders override FirstHeaders
		if err := json.Unmarshal(headers, &request.Headers); err != nil {
			return Effect{}, fmt.Errorf("decode request headers: %w", err)
		}
	}
	return Effect{
		EffectID:       r.EffectID,
		IdempotencyKey: r.IdempotencyKey,
		WireKey:        r.IdempotencyKey,
		Route:          r.Route,
		Destination:    r.Destination,
		Queue:          r.PlannedQueue,
		Policy:         r.Policy,
		Event:          r.EventRef,
		EventType:      r.EventType,
		AcceptSeq:      column.OrZero(r.AcceptSeq),
		Traceparent:    r.Traceparent,
		Request:        request,
		OnPark:         r.OnPark,
		OccurredAt:     column.OrZero(r.OccurredAt),
		State:          EffectStarted,
		Attempt:        1,
		LeaseUntil:     b.leaseUntil,
		NextAttemptAt:  b.nextAttemptAt,
		CreatedAt:      b.createdAt,
		FirstAttemptAt: b.lastAttemptAt,
		LastAttemptAt:  b.lastAttemptAt,
		JobID:          b.jobID,
		claimID:        r.ClaimID,
		jobWaits:       true,
	}, nil
}
