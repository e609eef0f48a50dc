package find

import (
	"context"
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Settled is after how long an event is told of by EventsOnward. Places are given when
// events are inserted, and one may be committed after another with a later place: who
// went past it would never see it.
const Settled = time.Minute

// EventsOnward finds events from a place on, the oldest first, as Events does those
// before it. From the beginning and from page to page, each event that is not imported
// later is told of once, after it is Settled; an event that AcceptTx inserts in a
// transaction of the caller that takes longer than that may be missed.
func (b *Finder) EventsOnward(ctx context.Context, f EventFilter, from Cursor, limit int) (Page[*inbox.Event], error) {
	page, err := b.eventsOnward(ctx, f, from, limit)
	if err != nil {
		return page, fmt.Errorf("list events onward: %w", err)
	}
	return page, nil
}

func (b *Finder) eventsOnward(ctx context.Context, f EventFilter, from Cursor, limit int) (Page[*inbox.Event], error) {
	at, err := from.event(oldestEvent)
	if err != nil {
		return Page[*inbox.Event]{}, err
	}
	since, until := int64(firstAccepted), int64(newestEvent)
	if !f.Since.IsZero() {
		if since, err = b.placeOf(ctx, f.Since.Add(-overlap)); err != nil {
			return Page[*inbox.Event]{}, err
		}
	}
	if !f.Until.IsZero() {
		if until, err = b.placeOf(ctx, f.Until.Add(overlap)); err != nil {
			return Page[*inbox.Event]{}, err
		}
	}
	return b.eventWalk(f, func(ctx context.Context, behind place, look, limit int) (slice[identity.EventRef], error) {
		return b.eventsAhead(ctx, eventSliceOnward{
			askedFor: f.askedFor(), After: behind.acceptSeq, UpTo: until, SettlesInSeconds: Settled.Seconds(), Look: look, Limit: limit,
		}, since)
	}).page(ctx, at, limit)
}

// eventsAhead looks at what was imported, whose times are not in the order of its
// places, and then at what was accepted from since on.
func (b *Finder) eventsAhead(ctx context.Context, args eventSliceOnward, since int64) (slice[identity.EventRef], error) {
	var s slice[identity.EventRef]
	look, limit := args.Look, args.Limit
	if args.After < firstAccepted-1 {
		imported := args
		imported.UpTo = firstAccepted
		var err error
		if s, err = b.eventSlice(ctx, b.sql.EventSliceOnward.With(imported)); err != nil || s.looked == look {
			return s, err
		}
	}
	args.After = max(args.After, since-1)
	args.Look, args.Limit = look-s.looked, limit-len(s.candidates)
	accepted, err := b.eventSlice(ctx, b.sql.EventSliceOnward.With(args))
	if err != nil || accepted.looked == 0 {
		return s, err
	}
	accepted.candidates = append(s.candidates, accepted.candidates...)
	accepted.looked += s.looked
	return accepted, nil
}
