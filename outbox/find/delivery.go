package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// nearby is the number of positions that EventsOfDelivery searches for a delivery's events, on each
// side of the delivery's time. Events of concurrent transactions take positions in between.
const nearby = 5_000

// EventsOfDelivery finds the events of a stored delivery, in their order in the delivery. It
// searches only positions near the delivery's time, and returns no event if the delivery is no
// longer stored. A limit of 0 means 50; the maximum is 1,000.
func (f *Finder) EventsOfDelivery(ctx context.Context, id uuid.UUID, limit int) ([]*inbox.Event, error) {
	events, err := f.eventsOfDelivery(ctx, id, min(column.Limit(limit), maxLimit))
	if err != nil {
		return nil, fmt.Errorf("find the events of a delivery: %w", err)
	}
	return events, nil
}

func (f *Finder) eventsOfDelivery(ctx context.Context, id uuid.UUID, limit int) ([]*inbox.Event, error) {
	var at time.Time
	err := f.sql.DeliveryReceived.With(deliveryReceived{DeliveryID: id}).QueryRow(ctx, f.look).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	place, err := f.placeOf(ctx, at)
	if err != nil {
		return nil, err
	}
	asked := eventsOfDelivery{DeliveryID: id, After: place - nearby, Before: place + nearby, Limit: limit}
	rows, err := f.sql.EventsOfDelivery.With(asked).Query(ctx, f.walk)
	if err != nil {
		return nil, err
	}
	refs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[identity.EventRef])
	if err != nil {
		return nil, err
	}
	return f.eventsByRef(ctx, refs, func(a, b *inbox.Event) int { return cmp.Compare(a.AcceptSeq, b.AcceptSeq) })
}

// eventsByRef loads events without their bodies, and sorts them with the function order.
func (f *Finder) eventsByRef(ctx context.Context, refs []identity.EventRef, order func(a, b *inbox.Event) int) ([]*inbox.Event, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	found, err := f.inbox.EventsByRef(ctx, refs)
	if err != nil {
		return nil, err
	}
	events := make([]*inbox.Event, 0, len(found))
	for _, e := range found {
		events = append(events, e)
	}
	slices.SortFunc(events, order)
	return events, nil
}
