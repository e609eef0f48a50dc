package export

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// eventsAtOnce is the number of events that one statement reads.
	eventsAtOnce = 10_000
	// overlap is the largest disorder of positions that eventsOf allows for. An event with a higher
	// position may have been received up to an hour earlier than an event with a lower position. An
	// event gets its position when it is inserted, but its time is the time at which its
	// transaction began.
	overlap = time.Hour
)

// arrived is an event of a delivery.
type arrived struct {
	delivery  uuid.UUID
	acceptSeq int64
}

// search is the progress of a search for the events of a day.
type search struct {
	day    time.Time
	after  int64     // position up to which events were read
	events []arrived // sorted by delivery when the search has ended
	ended  bool
}

// eventsOf lists the events of a day, sorted by delivery. No index maps a delivery to its events.
// eventsOf therefore reads all events whose positions belong to the day, or to the hour before or
// after the day.
func (a *Archive) eventsOf(ctx context.Context, d Day) ([]arrived, error) {
	var places [2]int64
	for i, at := range []time.Time{d.span().From.Add(-overlap), d.span().Until.Add(overlap)} {
		if err := a.sql.EventPlace.With(eventPlace{at}).QueryRow(ctx, a.inOrder()).Scan(&places[i]); err != nil {
			return nil, fmt.Errorf("find the day's events: %w", err)
		}
	}
	s := search{after: places[0] - 1}
	err := a.list(ctx, d, &s, places[1], nil)
	return s.events, err
}

// allEventsOf lists the events of a day, sorted by delivery, whatever their positions are: while
// the database's clock is wrong, times do not follow positions. It reads all events. If the time
// limit is reached, it returns ErrUnfinished, and this process's next call for the day continues.
func (a *Archive) allEventsOf(ctx context.Context, d Day, over func() bool) ([]arrived, error) {
	s := a.takeSearch()
	if !s.day.Equal(d.Day) {
		s = search{day: d.Day}
	}
	err := a.list(ctx, d, &s, math.MaxInt64, over)
	a.mu.Lock()
	a.search = s
	a.mu.Unlock()
	return s.events, err
}

// takeSearch returns the last search and forgets it, so that only one call continues it.
func (a *Archive) takeSearch() search {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.search
	a.search = search{}
	return s
}

// list continues a search up to the position until, and sorts the events. If over, which may be
// nil, reports that the time limit is reached, list returns ErrUnfinished.
func (a *Archive) list(ctx context.Context, d Day, s *search, until int64, over func() bool) error {
	for !s.ended {
		rows, err := a.sql.EventsBehind.With(eventsBehind{After: s.after, Until: until, Look: eventsAtOnce}).Query(ctx, a.inOrder())
		if err != nil {
			return fmt.Errorf("list the day's events: %w", err)
		}
		looked := 0
		var e arrived
		var receivedAt time.Time
		_, err = pgx.ForEachRow(rows, []any{&e.acceptSeq, &e.delivery, &receivedAt}, func() error {
			looked++
			s.after = e.acceptSeq
			if !receivedAt.Before(d.span().From) && receivedAt.Before(d.span().Until) {
				s.events = append(s.events, e)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("list the day's events: %w", err)
		}
		s.ended = looked < eventsAtOnce
		if !s.ended && over != nil && over() {
			return ErrUnfinished
		}
	}
	slices.SortFunc(s.events, func(a, b arrived) int {
		return cmp.Or(bytes.Compare(a.delivery[:], b.delivery[:]), cmp.Compare(a.acceptSeq, b.acceptSeq))
	})
	return nil
}
