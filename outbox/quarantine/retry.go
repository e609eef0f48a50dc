package quarantine

import (
	"context"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Verdict is the result of verifying a delivery again.
type Verdict struct {
	New     bool   // the delivery was accepted with at least one new event
	Refused string // reason why the delivery is still refused; empty: accepted
}

// Verify verifies a delivery as if it arrived now, and accepts it if it is authentic. An error is
// not a verdict: the call may be repeated.
type Verify func(ctx context.Context, d *Delivery) (Verdict, error)

// Retried counts the deliveries of a retry by result.
type Retried struct {
	Accepted   int64            `json:"accepted"`   // with a new event
	Duplicates int64            `json:"duplicates"` // with duplicates only
	Refused    map[string]int64 `json:"refused"`    // still refused, by reason
}

// Retry verifies a delivery again. If the delivery is accepted, Retry records the operator. A bulk
// run retries a selection. Retry removes a delivery only after its acceptance, so a Retry that is
// repeated after a crash may find a duplicate. A deleted delivery is not counted.
func (q *Quarantine) Retry(ctx context.Context, id uuid.UUID, by ledger.Operator, verify Verify) (Retried, error) {
	came := Retried{Refused: map[string]int64{}}
	found, err := q.Next(ctx, Filter{ID: id}, Mark{}, 1)
	if err != nil || len(found) == 0 {
		return came, err
	}
	verdict, err := verify(ctx, &found[0])
	switch {
	case err != nil:
		return came, err
	case verdict.Refused != "":
		came.Refused[verdict.Refused] = 1
		return came, nil
	case verdict.New:
		came.Accepted = 1
	default:
		came.Duplicates = 1
	}
	return came, q.Accepted(ctx, id, by)
}
