package quarantine

import (
	"context"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Verdict is what a verification of today says of a delivery.
type Verdict struct {
	New     bool   // it was accepted, with an event that was not known
	Refused string // why it is still refused. Empty: it was accepted.
}

// Verify verifies a delivery as if it came now, and accepts what is proven. Its error is
// no verdict: the same call may be repeated.
type Verify func(ctx context.Context, d *Delivery) (Verdict, error)

// Retried is what came of a retry, in deliveries.
type Retried struct {
	Accepted   int64            `json:"accepted"`   // with an event that was new
	Duplicates int64            `json:"duplicates"` // whose events were all known
	Refused    map[string]int64 `json:"refused"`    // that are still refused, by reason
}

// Retry has a delivery verified again, and records who had it done if it was accepted. A
// selection is retried by a bulk run. What was accepted is taken out after it, so that after
// a crash it is verified once more, and a duplicate. One that is gone counts as nothing.
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
