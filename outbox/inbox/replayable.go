package inbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/pipeline"
)

const (
	// replayPage is how many events to replay are found at once, at most.
	replayPage = 200
	// replayLook is how many events a statement looks at for them.
	replayLook = 20_000
)

// replayable are the events of a filter, Match aside.
type replayable struct {
	Source       identity.Source
	EventType    string
	Outcome      Outcome
	Since, Until *time.Time
}

func (f ReplayFilter) replayable() replayable {
	return replayable{
		Source: f.Source, EventType: f.Type, Outcome: f.State, Since: column.TimeOrNull(f.From), Until: column.TimeOrNull(f.Until),
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
	db := pipeline.ByIndex{Sender: i.readPool}
	if err := i.sql.NewestEvent.QueryRow(ctx, db).Scan(&last); err != nil {
		return 0, 0, fmt.Errorf("count events to replay: %w", err)
	}
	for slice := (replayableSlice{replayable: f.replayable(), Last: last, Look: replayLook}); slice.After < last; {
		var found int64
		if err := i.sql.CountReplayable.With(slice).QueryRow(ctx, db).Scan(&found, &slice.After); err != nil {
			return 0, 0, fmt.Errorf("count events to replay: %w", err)
		}
		if count += found; slice.After == 0 {
			break
		}
	}
	return count, last, nil
}

// eachReplayable calls do for the events of f up to last, in the order they were
// accepted: whether Match says yes, or why it could not say.
func (i *Inbox) eachReplayable(ctx context.Context, f ReplayFilter, last int64, do func(ref identity.EventRef, yes bool, unclear error) error) error {
	for after := int64(0); after < last; {
		page, next, err := i.replayable(ctx, f, after, last)
		if err != nil {
			return err
		}
		after = next
		for _, ref := range page {
			yes := true
			var unclear error
			if f.Match != nil {
				if yes, unclear, err = i.Matching(f.Match)(ctx, ref); err != nil {
					return err
				}
			}
			if err := do(ref, yes, unclear); err != nil {
				return err
			}
		}
	}
	return nil
}

// replayable returns the next events of f and after which one the next call goes on,
// which is last at the end.
func (i *Inbox) replayable(ctx context.Context, f ReplayFilter, after, last int64) (page []identity.EventRef, next int64, err error) {
	asked := replayablePage{
		replayableSlice: replayableSlice{replayable: f.replayable(), After: after, Last: last, Look: replayLook}, Limit: replayPage,
	}
	rows, err := i.sql.Replayable.With(asked).Query(ctx, pipeline.ByIndex{Sender: i.readPool})
	if err != nil {
		return nil, 0, fmt.Errorf("find events to replay: %w", err)
	}
	next = last
	var ref identity.EventRef
	var isEnd bool
	if _, err := pgx.ForEachRow(rows, []any{&ref.Source, &ref.EventID, &next, &isEnd}, func() error {
		if !isEnd {
			page = append(page, ref)
		}
		return nil
	}); err != nil {
		return nil, 0, fmt.Errorf("find events to replay: %w", err)
	}
	return page, next, nil
}
