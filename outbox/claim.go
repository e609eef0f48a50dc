package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Claim asks for the right to start one attempt (T3).
type Claim struct {
	ID EffectID
	// ClaimID is made by the worker for one run of the job: a claim that is
	// repeated because its answer was lost gets the same attempt.
	ClaimID uuid.UUID
	Lease   time.Duration // time-out of the attempt, and slack
	JobID   int64
	// FirstRequest completes the request at the first claim: method, URL and
	// headers that are still empty in the ledger are taken from it and
	// committed with the claim, for every later attempt (I7).
	FirstRequest Request
}

// ClaimStatus says whether an attempt may start.
type ClaimStatus string

// The answers to a claim.
const (
	ClaimGranted  ClaimStatus = "granted"  // start attempt Claimed.Effect.Attempt
	ClaimNotDue   ClaimStatus = "not_due"  // its next attempt is at Effect.NextAttemptAt
	ClaimLeased   ClaimStatus = "leased"   // another attempt runs until Effect.LeaseUntil
	ClaimFinished ClaimStatus = "finished" // nothing to do: Effect.State says why
	ClaimParked   ClaimStatus = "parked"   // this claim found it in doubt and parked it
	ClaimMissing  ClaimStatus = "missing"  // there is no such effect
)

// Claimed is the answer to a Claim.
type Claimed struct {
	Status ClaimStatus
	// Effect has its Request.Body filled in when Status is ClaimGranted,
	// whatever FromDelivery says.
	Effect Effect
}

func (c Claim) validate() error {
	if c.ClaimID == uuid.Nil {
		return errors.New("no claim id")
	}
	if c.Lease <= 0 {
		return fmt.Errorf("lease is %s, it must be positive", c.Lease)
	}
	return nil
}

// Claim starts an attempt, in a transaction that it may share with others: the
// lease and the number of the attempt are committed when it returns. The
// commit does not depend on ctx. Errors: ErrBusy, ErrUnavailable, ErrClosed.
func (o *Outbox) Claim(ctx context.Context, c Claim) (Claimed, error) {
	if err := c.validate(); err != nil {
		return Claimed{}, fmt.Errorf("claim effect: %w", err)
	}
	claimed, err := o.claims.submit(context.WithoutCancel(ctx), c)
	if err != nil {
		return Claimed{}, fmt.Errorf("claim effect: %w", err)
	}
	if claimed.Status == ClaimGranted && claimed.Effect.Request.FromDelivery {
		if err := o.loadDelivery(ctx, &claimed.Effect); err != nil {
			return claimed, fmt.Errorf("claim effect: %w", err)
		}
	}
	return claimed, nil
}

// loadDelivery fills in the body of an effect that sends its event as it came.
// Bodies can be large, so they are not read inside the shared transaction.
func (o *Outbox) loadDelivery(ctx context.Context, e *Effect) error {
	var item, contentType string
	var body []byte
	err := o.pool.QueryRow(ctx, o.sql.deliveryOf, e.Event.Source, e.Event.EventID).Scan(&item, &contentType, &body)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("load delivery of %s: %w", e.Event, ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("load delivery of %s: %w", e.Event, err)
	}
	e.Request.Body = partOf(body, item)
	if e.Request.ContentType == "" {
		e.Request.ContentType = contentType
	}
	return nil
}

// claimBatch is the first half of T3 for all claims of a batch.
func (o *Outbox) claimBatch(ctx context.Context, tx pgx.Tx, batch []Claim) ([]Claimed, error) {
	var scopes, keys, methods, urls []string
	var generations []int
	var claimIDs []uuid.UUID
	var leases []float64
	var jobIDs []int64
	var headers [][]byte
	asked := make(map[EffectID]bool, len(batch))
	for _, c := range batch {
		if asked[c.ID] {
			continue // the first of two jobs of one effect asks for both
		}
		asked[c.ID] = true
		encoded, err := encodeHeaders(c.FirstRequest.Headers)
		if err != nil {
			return nil, fmt.Errorf("encode headers: %w", err)
		}
		scopes, keys, generations = append(scopes, c.ID.Scope), append(keys, c.ID.Key), append(generations, c.ID.Generation)
		claimIDs, leases, jobIDs = append(claimIDs, c.ClaimID), append(leases, c.Lease.Seconds()), append(jobIDs, c.JobID)
		methods, urls = append(methods, c.FirstRequest.Method), append(urls, c.FirstRequest.URL)
		headers = append(headers, encoded)
	}
	rows, err := tx.Query(ctx, o.sql.claim, scopes, keys, generations, claimIDs, leases, jobIDs, methods, urls, headers)
	if err != nil {
		return nil, fmt.Errorf("claim effects: %w", err)
	}
	answers, err := pgx.CollectRows(rows, scanClaimed)
	if err != nil {
		return nil, fmt.Errorf("claim effects: %w", err)
	}
	byID := make(map[EffectID]Claimed, len(answers))
	for _, answer := range answers {
		byID[answer.Effect.EffectID] = answer
	}
	results := make([]Claimed, len(batch))
	for i, c := range batch {
		answer, found := byID[c.ID]
		switch {
		case !found:
			answer = Claimed{Status: ClaimMissing, Effect: Effect{EffectID: c.ID}}
		case answer.Status == ClaimLeased && answer.Effect.claimID == c.ClaimID:
			answer.Status = ClaimGranted
		}
		results[i] = answer
	}
	return results, nil
}

// scanClaimed tells a lease from a grant only by whose claim it is, which
// claimBatch knows.
func scanClaimed(row pgx.CollectableRow) (Claimed, error) {
	var claimID *uuid.UUID
	var parkedNow bool
	e, err := scanEffect(row, &claimID, &parkedNow)
	if err != nil {
		return Claimed{}, err
	}
	e.claimID = orZero(claimID)
	answer := Claimed{Effect: e}
	switch {
	case parkedNow:
		answer.Status = ClaimParked
	case e.State == EffectStarted:
		answer.Status = ClaimLeased
	case e.State.Finished():
		answer.Status = ClaimFinished
	default:
		answer.Status = ClaimNotDue
	}
	return answer, nil
}
