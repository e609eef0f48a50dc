package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/wildcard"
	"github.com/hooklatch/hooklatch/schema/statement"
)

// EventFilter selects events. Empty fields take all.
type EventFilter struct {
	Source  identity.Source
	Type    string           // or a pattern of package wildcard, like invoice.*
	EventID identity.EventID // of any source, unless Source names one
	Outcome inbox.Outcome
	Since   time.Time // received at or after
	Until   time.Time // received before
	Match   *Match    // what is in the event

	Duplicated bool // it came again
	Differs    bool // and with another body
	Retried    bool // its sender called it a retry
	Suspect    bool // its proof had come before, under another id
}

// Attributes are the words for what an event may have.
var Attributes = []string{"duplicates", "differs", "retry", "suspect"}

// Having asks besides that events have all of this.
func (f EventFilter) Having(words []string) (EventFilter, error) {
	for _, word := range words {
		switch word {
		case "duplicates":
			f.Duplicated = true
		case "differs":
			f.Differs = true
		case "retry":
			f.Retried = true
		case "suspect":
			f.Suspect = true
		default:
			return f, fmt.Errorf("%q is not among %s", word, strings.Join(Attributes, ", "))
		}
	}
	return f, nil
}

// overlap is how far places and times may be in different orders: an event has its
// place when it is inserted, and its time when its transaction began.
const overlap = time.Minute

// Events finds events from a place back, the newest first, without headers and bodies:
// limit of them, or 50 when it is 0, and 1,000 at most.
func (b *Finder) Events(ctx context.Context, f EventFilter, from Cursor, limit int) (Page[*inbox.Event], error) {
	page, err := b.events(ctx, f, from, limit, oldestEvent)
	if err != nil {
		return page, fmt.Errorf("list events: %w", err)
	}
	return page, nil
}

// events walks back to a place at most.
func (b *Finder) events(ctx context.Context, f EventFilter, from Cursor, limit int, floor int64) (Page[*inbox.Event], error) {
	at, err := from.event(newestEvent)
	if err != nil {
		return Page[*inbox.Event]{}, err
	}
	if f.EventID != "" {
		return b.eventsOfID(ctx, f)
	}
	since := int64(firstAccepted)
	if !f.Until.IsZero() {
		end, err := b.placeOf(ctx, f.Until.Add(overlap))
		if err != nil {
			return Page[*inbox.Event]{}, err
		}
		at.acceptSeq = min(at.acceptSeq, end)
	}
	if !f.Since.IsZero() {
		if since, err = b.placeOf(ctx, f.Since.Add(-overlap)); err != nil {
			return Page[*inbox.Event]{}, err
		}
	}
	since = max(since, floor)
	return b.eventWalk(f, func(ctx context.Context, behind place, look, limit int) (slice[identity.EventRef], error) {
		return b.eventsBack(ctx, eventSlice{
			askedFor: f.askedFor(), Before: behind.acceptSeq, DownTo: since, Look: look, Limit: limit,
		}, floor)
	}).page(ctx, at, limit)
}

// eventsBack looks at what was accepted, and then at what was imported, down to floor:
// its times are not in the order of its places.
func (b *Finder) eventsBack(ctx context.Context, args eventSlice, floor int64) (slice[identity.EventRef], error) {
	var s slice[identity.EventRef]
	look, limit := args.Look, args.Limit
	if args.Before > firstAccepted {
		var err error
		if s, err = b.eventSlice(ctx, b.sql.EventSlice.With(args)); err != nil || s.looked == look || floor >= firstAccepted {
			return s, err
		}
	}
	args.Before, args.DownTo = min(args.Before, firstAccepted), floor
	args.Look, args.Limit = look-s.looked, limit-len(s.candidates)
	imported, err := b.eventSlice(ctx, b.sql.EventSlice.With(args))
	if err != nil || imported.looked == 0 {
		return s, err
	}
	imported.candidates = append(s.candidates, imported.candidates...)
	imported.looked += s.looked
	return imported, nil
}

func (b *Finder) eventWalk(f EventFilter, read func(ctx context.Context, behind place, look, limit int) (slice[identity.EventRef], error)) walk[identity.EventRef, *inbox.Event] {
	w := walk[identity.EventRef, *inbox.Event]{
		read: read, cursor: place.ofEvent, all: f == (EventFilter{}), judge: b.judgeBy(f.Match), budget: b.plain,
		load: func(ctx context.Context, refs []identity.EventRef) (map[identity.EventRef]*inbox.Event, error) {
			rows, err := b.inbox.EventsByRef(ctx, refs)
			for ref, e := range rows {
				if !f.takes(e) { // it changed meanwhile
					delete(rows, ref)
				}
			}
			return rows, err
		},
	}
	if f.Match != nil {
		w.budget = b.matched
	}
	return w
}

func (b *Finder) eventSlice(ctx context.Context, sql statement.Bound) (slice[identity.EventRef], error) {
	var s slice[identity.EventRef]
	rows, err := sql.Query(ctx, b.walk)
	if err != nil {
		return s, err
	}
	var looked int
	var seq *int64
	var at *time.Time
	var ref identity.EventRef
	var deliveryID *uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&looked, &seq, &at, &ref.Source, &ref.EventID, &deliveryID}, func() error {
		here := place{acceptSeq: column.OrZero(seq), at: column.OrZero(at)}
		if ref == (identity.EventRef{}) {
			s.looked, s.end = looked, here
			return nil
		}
		s.candidates = append(s.candidates, candidate[identity.EventRef]{ref: ref, place: here, event: ref, deliveryID: column.OrZero(deliveryID)})
		return nil
	})
	return s, err
}

// eventsOfID finds the events of an id, which there are few of.
func (b *Finder) eventsOfID(ctx context.Context, f EventFilter) (Page[*inbox.Event], error) {
	var page Page[*inbox.Event]
	sources := []identity.Source{f.Source}
	if f.Source == "" {
		var err error
		if sources, err = b.sources(ctx); err != nil {
			return page, err
		}
	}
	refs := make([]identity.EventRef, len(sources))
	for i, source := range sources {
		refs[i] = identity.EventRef{Source: source, EventID: f.EventID}
	}
	judge := b.judgeBy(f.Match)
	read := b.inbox.EventsByRef
	if judge != nil {
		read = b.inbox.EventsWhole
	}
	found, err := read(ctx, refs)
	if err != nil {
		return page, err
	}
	for _, e := range found {
		if !f.takes(e) || judge != nil && !judge.yes(e) {
			continue
		}
		page.Rows = append(page.Rows, e)
	}
	slices.SortFunc(page.Rows, func(x, y *inbox.Event) int {
		if c := y.ReceivedAt.Compare(x.ReceivedAt); c != 0 {
			return c
		}
		return strings.Compare(string(x.Source), string(y.Source))
	})
	for _, e := range page.Rows {
		e.Headers, e.Body = nil, nil
		page.Cursors = append(page.Cursors, place{acceptSeq: e.AcceptSeq}.ofEvent())
	}
	if judge != nil {
		page.Unclear, page.WhyUnclear, page.Bodiless = judge.unclear, judge.whyUnclear, judge.bodiless
	}
	page.Looked = len(found)
	return page, nil
}

func (b *Finder) sources(ctx context.Context) ([]identity.Source, error) {
	rows, err := b.sql.Sources.Query(ctx, b.look)
	if err != nil {
		return nil, fmt.Errorf("find sources: %w", err)
	}
	sources, err := pgx.CollectRows(rows, pgx.RowTo[identity.Source])
	if err != nil {
		return nil, fmt.Errorf("find sources: %w", err)
	}
	return sources, nil
}

// takes tells whether an event is asked for, Match aside.
func (f EventFilter) takes(e *inbox.Event) bool {
	return (f.Source == "" || e.Source == f.Source) &&
		(f.Type == "" || wildcard.Match(f.Type, e.Type)) &&
		(f.EventID == "" || e.EventID == f.EventID) &&
		(f.Outcome == "" || e.Outcome == f.Outcome) &&
		(!f.Duplicated || e.Duplicates > 0) &&
		(!f.Differs || e.BodyDiffers) &&
		(!f.Retried || e.RetryNumber > 0) &&
		(!f.Suspect || e.ReplaySuspect) &&
		!e.ReceivedAt.Before(f.Since) &&
		(f.Until.IsZero() || e.ReceivedAt.Before(f.Until))
}

func (f EventFilter) askedFor() askedFor {
	return askedFor{
		Source: f.Source, TypeLike: wildcard.Like(f.Type), Outcome: f.Outcome,
		Duplicated: f.Duplicated, Differs: f.Differs, Retried: f.Retried, Suspect: f.Suspect,
		Since: column.TimeOrNull(f.Since), Until: column.TimeOrNull(f.Until),
	}
}

// placeOf is where the events begin that were received at a time or later.
func (b *Finder) placeOf(ctx context.Context, at time.Time) (int64, error) {
	var seq int64
	if err := b.sql.EventPlace.With(eventPlace{At: at}).QueryRow(ctx, b.walk).Scan(&seq); err != nil {
		return 0, fmt.Errorf("find the time: %w", err)
	}
	return seq, nil
}
