package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
)

// scanEffect scans the columns of effect_columns.sql, then the columns that always follow them, and
// then extra.
func scanEffect(row pgx.CollectableRow, extra ...any) (Effect, error) {
	var e Effect
	var acceptSeq, jobID *int64
	var status *int
	var leaseUntil, firstAttemptAt, lastAttemptAt, maybeAppliedSince, finishedAt, refusedSince, erasedAt *time.Time
	var headers []byte
	var occurredAt *time.Time
	var rendering string
	if err := row.Scan(append([]any{
		&e.Scope, &e.Key, &e.Generation, &e.IdempotencyKey, &e.Route, &e.Destination, &e.Queue, &e.Policy,
		&e.Event.Source, &e.Event.EventID, &e.EventType, &acceptSeq, &e.Traceparent,
		&e.Request.Method, &e.Request.URL, &headers, &e.Request.ContentType, &e.Request.FromDelivery,
		&e.Attempt, &e.CreatedAt, &firstAttemptAt, &lastAttemptAt,
		&maybeAppliedSince, &finishedAt, &status, &e.ResponseExcerpt, &e.Error, &jobID,
		&e.KeyRotations, &e.OrderKey, &e.OnPark, &e.LatestKey, &occurredAt, &e.SupersededBy, &rendering, &e.UncountedAttempts, &refusedSince, &erasedAt,
		&e.Request.Body, &e.State, &leaseUntil, &e.NextAttemptAt,
	}, extra...)...); err != nil {
		return Effect{}, err
	}
	if err := json.Unmarshal(headers, &e.Request.Headers); err != nil {
		return Effect{}, fmt.Errorf("decode request headers: %w", err)
	}
	e.AcceptSeq, e.JobID, e.ResponseStatus = column.OrZero(acceptSeq), column.OrZero(jobID), column.OrZero(status)
	e.LeaseUntil, e.FirstAttemptAt, e.LastAttemptAt = column.OrZero(leaseUntil), column.OrZero(firstAttemptAt), column.OrZero(lastAttemptAt)
	e.MaybeAppliedSince, e.FinishedAt, e.OccurredAt = column.OrZero(maybeAppliedSince), column.OrZero(finishedAt), column.OrZero(occurredAt)
	e.RefusedSince, e.ErasedAt = column.OrZero(refusedSince), column.OrZero(erasedAt)
	e.WireKey = wireKey(e.IdempotencyKey, e.KeyRotations)
	e.Request.Late, e.unrendered = rendering == renderingLate, rendering == renderingFailed
	return e, nil
}
