package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// searchValueRow is a value by which operators find an event.
type searchValueRow struct {
	Value      string
	Source     identity.Source
	AcceptSeq  int64
	ReceivedAt time.Time
}

type keepSearchValues struct{ Kept []searchValueRow }

// checkSearchValues returns an error for too many values, or for one that cannot be stored.
func (d Dispatch) checkSearchValues() error {
	if len(d.SearchValues) > payload.MaxSearchValues {
		return fmt.Errorf("%d search values; allowed: %d", len(d.SearchValues), payload.MaxSearchValues)
	}
	for _, value := range d.SearchValues {
		if len(value) > payload.MaxSearchValue || safetext.Storable(value) != value || payload.SearchValue(value) != value {
			return fmt.Errorf("search value %q: allowed are up to %d bytes of lower-case text", value, payload.MaxSearchValue)
		}
	}
	return nil
}

// keepSearchValues stores the values of plans that passed the fence. A replayed event also keeps
// its earlier values.
func (o *Outbox) keepSearchValues(ctx context.Context, tx pgx.Tx, passed ...Dispatch) error {
	var kept []searchValueRow
	for _, d := range passed {
		for _, value := range d.SearchValues {
			kept = append(kept, searchValueRow{Value: value, Source: d.Event.Source, AcceptSeq: d.Event.AcceptSeq, ReceivedAt: d.Event.ReceivedAt})
		}
	}
	if len(kept) == 0 {
		return nil
	}
	if _, err := o.sql.KeepSearchValues.With(keepSearchValues{Kept: kept}).Exec(ctx, tx); err != nil {
		return fmt.Errorf("store search values: %w", err)
	}
	return nil
}
