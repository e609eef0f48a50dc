package fleet

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/rule"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// MostUnsuccessful limits each count of a destination: a count of this value means this many or
// more.
const MostUnsuccessful = rule.MostAside

// Unsuccessful counts the failed and the parked effects at one destination. Each count stops at
// MostUnsuccessful.
type Unsuccessful struct {
	Failed int64 `json:"failed"` // permanently failed, or rejected at their last attempt
	Parked int64 `json:"parked"`
}

// Unsuccessful counts failed and parked effects by destination. It omits destinations without any.
func (f *Fleet) Unsuccessful(ctx context.Context) (map[string]Unsuccessful, error) {
	rows, err := f.sql.CountUnsuccessful.With(aside{Most: MostUnsuccessful}).Query(ctx, pipeline.ByIndex{Sender: f.read, InOrder: true})
	if err != nil {
		return nil, fmt.Errorf("count unsuccessful effects: %w", err)
	}
	counts := make(map[string]Unsuccessful)
	var destination string
	var state ledger.EffectState
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&destination, &state, &n}, func() error {
		count := counts[destination]
		if state == ledger.EffectFailed {
			count.Failed = n
		} else {
			count.Parked = n
		}
		counts[destination] = count
		return nil
	}); err != nil {
		return nil, fmt.Errorf("count unsuccessful effects: %w", err)
	}
	return counts, nil
}
