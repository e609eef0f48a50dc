package fleet

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Unsuccessful counts the effects that wait for a person at one destination.
type Unsuccessful struct {
	Failed int64 `json:"failed"` // refused, or turned away to the last attempt
	Parked int64 `json:"parked"`
}

// Unsuccessful counts effects by destination; one without any is left out. It
// reads the whole table.
func (f *Fleet) Unsuccessful(ctx context.Context) (map[string]Unsuccessful, error) {
	rows, err := f.sql.CountUnsuccessful.Query(ctx, f.read)
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
