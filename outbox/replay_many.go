package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// replayPage is how many events a replay reads at once.
const replayPage = 200

// ReplayFilter selects events to replay. Empty fields take all. An event that
// waits for its dispatch, or that a replay guard held, is never among them.
type ReplayFilter struct {
	Source string
	Type   string
	State  EventOutcome // dispatched, skipped or failed
	From   time.Time    // received at or after
	Until  time.Time    // received before
	// Match decides by what is in the event, its body included. It is not
	// counted by CountReplayable. An error ends the replay.
	Match func(*Event) (bool, error)
}

func (f ReplayFilter) args() []any {
	return []any{f.Source, f.Type, string(f.State), timeOrNull(f.From), timeOrNull(f.Until)}
}

// ReplayPace bounds a replay of many events.
type ReplayPace struct {
	PerSecond float64 // events replayed per second; 0: as fast as it goes
	// Progress is called after each event that was looked at. Nil: nobody.
	Progress func(ReplayProgress)
}

// ReplayProgress is how far a replay of many events has come.
type ReplayProgress struct {
	Total    int64 // events of the filter when it began, Match aside
	Seen     int64
	Replayed int64
	Reopened int64 // effects that are tried again under their old key
	Last     EventRef
}

// CountReplayable is how many events a replay of f would look at now.
func (o *Outbox) CountReplayable(ctx context.Context, f ReplayFilter) (int64, error) {
	count, _, err := o.countReplayable(ctx, f)
	return count, err
}

func (o *Outbox) countReplayable(ctx context.Context, f ReplayFilter) (count, last int64, err error) {
	if err := o.readPool.QueryRow(ctx, o.sql.countReplayable, f.args()...).Scan(&count, &last); err != nil {
		return 0, 0, fmt.Errorf("count events to replay: %w", err)
	}
	return count, last, nil
}

// ReplayMany replays the events of f in the order they were accepted, each in a
// transaction of its own as Replay does, until all are through or ctx is done.
// Events accepted after it began are left out, and so are those that somebody
// else replays meanwhile. What was replayed before an error stays replayed.
func (o *Outbox) ReplayMany(ctx context.Context, f ReplayFilter, by Operator, opts ReplayOptions, pace ReplayPace) (ReplayProgress, error) {
	var done ReplayProgress
	total, last, err := o.countReplayable(ctx, f)
	if err != nil {
		return done, err
	}
	done.Total = total
	throttle := newThrottle(pace.PerSecond)
	defer throttle.stop()
	for after := int64(0); after < last; {
		page, err := o.replayable(ctx, f, after, last)
		if err != nil {
			return done, err
		}
		if len(page) == 0 {
			break
		}
		for _, next := range page {
			after = next.acceptSeq
			replayed, err := o.replayOne(ctx, next.ref, f, by, opts, throttle)
			if err != nil {
				return done, err
			}
			done.Seen++
			done.Last = next.ref
			if replayed != nil {
				done.Replayed++
				done.Reopened += int64(replayed.Reopened)
			}
			if pace.Progress != nil {
				pace.Progress(done)
			}
		}
	}
	return done, nil
}

// replayOne returns nil for an event that does not match, or not any more.
func (o *Outbox) replayOne(ctx context.Context, ref EventRef, f ReplayFilter, by Operator, opts ReplayOptions, t *throttle) (*Replayed, error) {
	if f.Match != nil {
		e, err := o.Event(ctx, ref)
		if errors.Is(err, ErrNotFound) {
			return nil, nil //nolint:nilnil // gone is not an error
		}
		if err != nil {
			return nil, err
		}
		if yes, err := f.Match(e); err != nil || !yes {
			return nil, err
		}
	}
	if err := t.wait(ctx); err != nil {
		return nil, fmt.Errorf("replay events: %w", err)
	}
	replayed, err := o.Replay(ctx, ref, by, opts)
	if errors.Is(err, ErrNotReplayable) || errors.Is(err, ErrNotFound) {
		return nil, nil //nolint:nilnil // somebody else was faster
	}
	if err != nil {
		return nil, err
	}
	return &replayed, nil
}

type replayableEvent struct {
	ref       EventRef
	acceptSeq int64
}

func (o *Outbox) replayable(ctx context.Context, f ReplayFilter, after, last int64) ([]replayableEvent, error) {
	rows, err := o.readPool.Query(ctx, o.sql.replayable, append(f.args(), after, last, replayPage)...)
	if err != nil {
		return nil, fmt.Errorf("find events to replay: %w", err)
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (replayableEvent, error) {
		var e replayableEvent
		err := row.Scan(&e.ref.Source, &e.ref.EventID, &e.acceptSeq)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("find events to replay: %w", err)
	}
	return page, nil
}

// throttle lets one through at once and the next when its time has come.
type throttle struct {
	ticker *time.Ticker
	first  bool
}

func newThrottle(perSecond float64) *throttle {
	if perSecond <= 0 {
		return &throttle{}
	}
	return &throttle{ticker: time.NewTicker(max(time.Duration(float64(time.Second)/perSecond), time.Microsecond)), first: true}
}

func (t *throttle) wait(ctx context.Context) error {
	if t.ticker == nil || t.first {
		t.first = false
		return context.Cause(ctx)
	}
	select {
	case <-t.ticker.C:
		return context.Cause(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *throttle) stop() {
	if t.ticker != nil {
		t.ticker.Stop()
	}
}
