package inbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/pipeline"
	"github.com/hooklatch/hooklatch/outbox/wildcard"
)

const (
	// replayPage is how many events to replay are found at once, at most.
	replayPage = 200
	// replayLook is how many events a statement looks at for them.
	replayLook = 20_000
)

// ReplayFilter selects events to replay. Empty fields take all. An event that
// waits for its dispatch, or that a replay guard held, is never among them.
type ReplayFilter struct {
	Source identity.Source
	Type   string  // or a pattern of package wildcard, like invoice.*
	State  Outcome // dispatched, skipped or failed
	// Route is the one route they are replayed by: see ReplayOptions.
	Route string
	From  time.Time // received at or after
	Until time.Time // received before
	// Match decides by what is in the event, its body included. An event for
	// which it fails is left out.
	Match func(*Event) (bool, error)
}

// replayable are the events of a filter, Match aside.
type replayable struct {
	Source       identity.Source
	TypeLike     string // see wildcard.Like
	Outcome      Outcome
	Route        string
	Since, Until *time.Time
}

func (f ReplayFilter) replayable() replayable {
	return replayable{
		Source: f.Source, TypeLike: wildcard.Like(f.Type), Outcome: f.State, Route: f.Route, Since: column.TimeOrNull(f.From), Until: column.TimeOrNull(f.Until),
	}
}

type replayableSlice struct {
	replayable

	After, Last int64
	Look        int
}

type replayablePage struct {
	replayableSlice

	Limit int
}

// countReplayable counts the events of f up to the last that there is now.
func (i *Inbox) countReplayable(ctx context.Context, f ReplayFilter) (count, last int64, err error) {
	if last, err = i.Newest(ctx); err != nil {
		return 0, 0, err
	}
	for after := int64(0); after < last; {
		var found int64
		if found, after, err = i.CountReplayable(ctx, f, after, last); err != nil {
			return 0, 0, err
		}
		count += found
	}
	return count, last, nil
}

// CountReplayable counts the next events of f between two places, Match aside, and says up
// to which place: last at the end.
func (i *Inbox) CountReplayable(ctx context.Context, f ReplayFilter, after, last int64) (found, next int64, err error) {
	slice := replayableSlice{replayable: f.replayable(), After: after, Last: last, Look: replayLook}
	if err := i.sql.CountReplayable.With(slice).QueryRow(ctx, pipeline.ByIndex{Sender: i.readPool}).Scan(&found, &next); err != nil {
		return 0, 0, fmt.Errorf("count events to replay: %w", err)
	}
	if next == 0 {
		next = last
	}
	return found, next, nil
}

// Candidate is an event that a replay looks at.
type Candidate struct {
	identity.EventRef

	AcceptSeq int64
	Yes       bool  // Match says so, or there is none
	Unclear   error // why Match could not say
}

// Newest is the place of the event that was accepted last, 0 when there is none.
func (i *Inbox) Newest(ctx context.Context) (last int64, err error) {
	if err := i.sql.NewestEvent.QueryRow(ctx, pipeline.ByIndex{Sender: i.readPool}).Scan(&last); err != nil {
		return 0, fmt.Errorf("find the newest event: %w", err)
	}
	return last, nil
}

// EachReplayable calls do for the events of f between two places, in the order they were
// accepted, and passed after each page of them with the place that it reached to.
func (i *Inbox) EachReplayable(ctx context.Context, f ReplayFilter, after, last int64, do func(Candidate) error, passed func(place int64) error) error {
	for after < last {
		page, next, err := i.replayable(ctx, f, after, last)
		if err != nil {
			return err
		}
		after = next
		for _, c := range page {
			if c.Yes = true; f.Match != nil {
				if c.Yes, c.Unclear, err = i.Matching(f.Match)(ctx, c.EventRef); err != nil {
					return err
				}
			}
			if err := do(c); err != nil {
				return err
			}
		}
		if err := passed(next); err != nil {
			return err
		}
	}
	return nil
}

// replayable returns the next events of f and after which one the next call goes on,
// which is last at the end.
func (i *Inbox) replayable(ctx context.Context, f ReplayFilter, after, last int64) (page []Candidate, next int64, err error) {
	asked := replayablePage{
		replayableSlice: replayableSlice{replayable: f.replayable(), After: after, Last: last, Look: replayLook}, Limit: replayPage,
	}
	rows, err := i.sql.Replayable.With(asked).Query(ctx, pipeline.ByIndex{Sender: i.readPool})
	if err != nil {
		return nil, 0, fmt.Errorf("find events to replay: %w", err)
	}
	next = last
	var c Candidate
	var isEnd bool
	if _, err := pgx.ForEachRow(rows, []any{&c.Source, &c.EventID, &c.AcceptSeq, &isEnd}, func() error {
		if next = c.AcceptSeq; !isEnd {
			page = append(page, c)
		}
		return nil
	}); err != nil {
		return nil, 0, fmt.Errorf("find events to replay: %w", err)
	}
	return page, next, nil
}
