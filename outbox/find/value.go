package find

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// EventsOfValue finds the events of the given sources that have an indexed value, newest first.
// Letter case and surrounding space are ignored. Each source and day needs one look-up. A limit of
// 0 means 50; the maximum is 1,000.
func (f *Finder) EventsOfValue(ctx context.Context, text string, sources []identity.Source, limit int) ([]*inbox.Event, error) {
	value := payload.SearchValue(safetext.Storable(text))
	if value == "" || len(value) > payload.MaxSearchValue || len(sources) == 0 {
		return nil, nil
	}
	limit = min(column.Limit(limit), maxLimit)
	rows, err := f.sql.EventsOfValue.With(eventsOfValue{Value: value, Sources: sources, Limit: limit}).Query(ctx, f.walk)
	if err != nil {
		return nil, fmt.Errorf("find a value: %w", err)
	}
	refs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[identity.EventRef])
	if err != nil {
		return nil, fmt.Errorf("find a value: %w", err)
	}
	events, err := f.eventsByRef(ctx, refs, func(a, b *inbox.Event) int { return cmp.Compare(b.AcceptSeq, a.AcceptSeq) })
	if err != nil {
		return nil, fmt.Errorf("find a value: %w", err)
	}
	return events[:min(limit, len(events))], nil
}
