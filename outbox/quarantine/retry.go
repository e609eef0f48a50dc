package quarantine

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// retryPage is how many refused deliveries are in memory at once.
const retryPage = 50

// Verdict is what a verification of today says of a delivery.
type Verdict struct {
	New     bool   // it was accepted, with an event that was not known
	Refused string // why it is still refused. Empty: it was accepted.
}

// Verify verifies a delivery as if it came now, and accepts what is proven. Its error
// ends the retry: it is no verdict.
type Verify func(ctx context.Context, d *Delivery) (Verdict, error)

// Retried is what came of a retry, in deliveries.
type Retried struct {
	Accepted   int64            `json:"accepted"`   // with an event that was new
	Duplicates int64            `json:"duplicates"` // whose events were all known
	Refused    map[string]int64 `json:"refused"`    // that are still refused, by reason
}

// Retry has what f selects verified again, the oldest first, page by page. What was
// accepted is taken out after it, so that after a crash it is verified once more, and a
// duplicate. It returns what came of it also with an error.
func (q *Quarantine) Retry(ctx context.Context, f Filter, by ledger.Operator, verify Verify) (Retried, error) {
	if by.RequestID == "" {
		by.RequestID = uuid.NewString() // all parts are one order
	}
	came := Retried{Refused: map[string]int64{}}
	var after Mark
	for part := 1; ctx.Err() == nil; part++ {
		page, err := q.Next(ctx, f, after, retryPage)
		if err != nil || len(page) == 0 {
			return came, err
		}
		var accepted []uuid.UUID
		for i := range page {
			after = page[i].Mark()
			var verdict Verdict
			if verdict, err = verify(ctx, &page[i]); err != nil {
				break
			}
			if verdict.Refused != "" {
				came.Refused[verdict.Refused]++
				continue
			}
			accepted = append(accepted, page[i].ID)
			if verdict.New {
				came.Accepted++
			} else {
				came.Duplicates++
			}
		}
		if len(accepted) > 0 {
			err = errors.Join(err, q.Accepted(ctx, accepted, part, f, by))
		}
		if err != nil {
			return came, err
		}
	}
	return came, ctx.Err()
}
