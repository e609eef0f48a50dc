package find

import (
	"context"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// These constants limit how far before the newest known position a Tail reads rows again. It reads
// them again because rows do not become visible in the order in which they were inserted.
const (
	placesAgain = 1_000
	timeAgain   = 10 * time.Second
)

// Tail returns new rows. It is meant for watching: a row that is committed much later than the rows
// after it is never returned.
type Tail[Row any] struct {
	// read returns the matching rows that are not much older than the newest known position, their
	// cursors, and the newest position now.
	read func(ctx context.Context, known place) ([]Row, []Cursor, place, error)
	told map[Cursor]place
	at   place
	late func(known, p place) bool // reports whether p is too old to be read again
}

// Next returns the new rows since the last call, oldest first. The first call returns nothing.
func (t *Tail[Row]) Next(ctx context.Context) ([]Row, error) {
	rows, cursors, newest, err := t.read(ctx, t.at)
	if err != nil {
		return nil, err
	}
	first := t.told == nil
	if first {
		t.told = make(map[Cursor]place)
	}
	var fresh []Row
	for i, row := range rows {
		if _, told := t.told[cursors[i]]; told {
			continue
		}
		t.told[cursors[i]] = newest
		if !first {
			fresh = append(fresh, row)
		}
	}
	for cursor, then := range t.told {
		if t.late(newest, then) {
			delete(t.told, cursor)
		}
	}
	t.at = newest
	slices.Reverse(fresh)
	return fresh, nil
}

// FollowEvents returns a Tail of events as they are accepted.
func (f *Finder) FollowEvents(asked Events) *Tail[*inbox.Event] {
	return &Tail[*inbox.Event]{
		late: func(known, p place) bool { return p.acceptSeq < known.acceptSeq-2*placesAgain },
		read: func(ctx context.Context, known place) (rows []*inbox.Event, cursors []Cursor, newest place, err error) {
			last, err := f.events(ctx, Events{}, Beginning, 1, firstAccepted)
			if err != nil {
				return nil, nil, known, err
			}
			newest = known
			if len(last.Rows) > 0 {
				newest.acceptSeq = max(known.acceptSeq, last.Rows[0].AcceptSeq)
			}
			floor := known.acceptSeq
			if floor == 0 {
				floor = newest.acceptSeq
			}
			for at, more := Beginning, true; more; {
				page, err := f.events(ctx, asked, at, maxLimit, max(floor-placesAgain, firstAccepted))
				if err != nil {
					return nil, nil, known, err
				}
				rows, cursors = append(rows, page.Rows...), append(cursors, page.Cursors...)
				at, more = page.Next, page.More
			}
			return rows, cursors, newest, nil
		},
	}
}

// FollowEffects returns a Tail of effects as they are created.
func (f *Finder) FollowEffects(asked Effects) *Tail[ledger.Effect] {
	return &Tail[ledger.Effect]{
		late: func(known, p place) bool { return p.at.Before(known.at.Add(-2 * timeAgain)) },
		read: func(ctx context.Context, known place) (rows []ledger.Effect, cursors []Cursor, newest place, err error) {
			last, err := f.effects(ctx, Effects{}, Beginning, 1)
			if err != nil {
				return nil, nil, known, err
			}
			newest = known
			if len(last.Rows) > 0 && last.Rows[0].CreatedAt.After(known.at) {
				newest.at = last.Rows[0].CreatedAt
			}
			floor := known.at
			if floor.IsZero() {
				floor = newest.at
			}
			recent := asked
			if since := floor.Add(-timeAgain); since.After(asked.Since) && !floor.IsZero() {
				recent.Since = since
			}
			for at, more := Beginning, true; more; {
				page, err := f.effects(ctx, recent, at, maxLimit)
				if err != nil {
					return nil, nil, known, err
				}
				rows, cursors = append(rows, page.Rows...), append(cursors, page.Cursors...)
				at, more = page.Next, page.More
			}
			return rows, cursors, newest, nil
		},
	}
}
