package retention

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// The fates of an event in a slice.
const (
	fateOther = "other" // the event's source is not in the walk
	fateYoung = "young" // the event has not expired
	fateGone  = "gone"
	fateKept  = "kept" // the event has expired, but is still needed
)

// future is the maximum time by which an event may be ahead of the database's clock and still block
// later events. A clock that was far ahead for a while leaves events beyond this limit.
const future = Day

// deleteEvents walks the events after the cursors of all sources, in the order of their arrival.
// Sources whose cursors meet are walked together. A row is thus read once for each distinct
// retention period, not once for each source.
func (r *run) deleteEvents(ctx context.Context, sources []*task) error {
	var err error
	if r.needs, err = r.need(ctx); err != nil {
		return err
	}
	if err := r.recheckEvents(ctx, sources); err != nil {
		return err
	}
	walks := make([]*walk, len(sources))
	for i, t := range sources {
		walks[i] = &walk{task: t}
	}
	for {
		next, until := nextWalk(walks)
		if len(next) == 0 || r.over(ctx) {
			return nil
		}
		if err := r.walkOnce(ctx, next, until, r.walkSlice); err != nil {
			return err
		}
	}
}

// walk is the progress of one source through the events.
type walk struct {
	*task

	ended bool
}

// nextWalk returns the walks that are furthest behind, and how far they continue together.
func nextWalk(walks []*walk) (next []*walk, until int64) {
	until = math.MaxInt64
	for _, w := range walks {
		switch {
		case w.ended:
		case len(next) == 0 || w.acceptSeq < next[0].acceptSeq:
			if len(next) > 0 {
				until = next[0].acceptSeq
			}
			next = []*walk{w}
		case w.acceptSeq == next[0].acceptSeq:
			next = append(next, w)
		default:
			until = min(until, w.acceptSeq)
		}
	}
	return next, until
}

// looked is an event of a slice.
type looked struct {
	acceptSeq  int64
	source     identity.Source
	receivedAt time.Time
	fate       string
}

// slice is a function that reads or deletes the events of one slice of a walk, and returns all
// events of the slice with their fates.
type slice func(ctx context.Context, members []member, after, until int64) ([]looked, error)

// walkOnce processes the next slice after the common cursor of the given walks.
func (r *run) walkOnce(ctx context.Context, walks []*walk, until int64, take slice) error {
	after := walks[0].acceptSeq
	until = r.needs.complete(after, until, r.look)
	members := make([]member, len(walks))
	for i, w := range walks {
		members[i] = member{Source: w.source, Before: w.before}
	}
	events, err := take(ctx, members, after, until)
	if err != nil {
		return err
	}
	for _, w := range walks {
		w.follow(events, r.now)
		switch {
		case w.ended:
		case len(events) == r.look:
			w.acceptSeq = events[len(events)-1].acceptSeq
		case until == math.MaxInt64: // no more events exist
			w.ended = true
			if len(events) > 0 {
				w.acceptSeq = events[len(events)-1].acceptSeq
			}
		default:
			w.acceptSeq = until
		}
	}
	if r.order.Progress != nil {
		r.order.Progress(walks[0].part())
	}
	return nil
}

// follow counts the fates of the source's events in a slice. The walk ends before the first event
// of any source that has not expired under this source's setting, because the events after it
// arrived even later. An event that is further ahead of the clock than future does not end the
// walk.
func (w *walk) follow(events []looked, now time.Time) {
	w.oldest = time.Time{}
	for _, e := range events {
		ahead := e.receivedAt.After(now.Add(future))
		if !e.receivedAt.Before(w.before) && !ahead {
			w.ended, w.acceptSeq, w.oldest = true, max(w.acceptSeq, e.acceptSeq-1), e.receivedAt
			return
		}
		if e.source != w.source {
			continue
		}
		switch e.fate {
		case fateGone:
			w.rows++
		case fateKept, fateYoung:
			w.kept++
		}
	}
}

// walkSlice deletes a slice's events that have expired and are not needed, and records the events
// that the walk skips.
func (r *run) walkSlice(ctx context.Context, members []member, after, until int64) ([]looked, error) {
	var events []looked
	err := r.slice(ctx, "delete_events", func(ctx context.Context, tx pgx.Tx) error {
		rows, err := r.sql.DeleteEvents.With(deleteEvents{
			Members: members, After: after, Until: until, Look: r.look, Needed: r.needs.behind(after, r.look), Since: r.needs.since,
		}).Query(ctx, tx)
		if err != nil {
			return err
		}
		if events, err = pgx.CollectRows(rows, scanLooked); err != nil {
			return err
		}
		kept := keptOf(events, r.now)
		if len(kept) == 0 {
			return nil
		}
		_, err = r.sql.KeepEvents.With(keepEvents{Events: kept}).Exec(ctx, tx)
		return err
	})
	return events, err
}

// keptOf returns the events that a walk skips: they are still needed, or are in the future.
func keptOf(events []looked, now time.Time) []int64 {
	var kept []int64
	for _, e := range events {
		if e.fate == fateKept || e.fate == fateYoung && e.receivedAt.After(now.Add(future)) {
			kept = append(kept, e.acceptSeq)
		}
	}
	return kept
}

func scanLooked(row pgx.CollectableRow) (looked, error) {
	var l looked
	err := row.Scan(&l.acceptSeq, &l.source, &l.receivedAt, &l.fate)
	return l, err
}

// recheckEvents deletes events that earlier walks skipped and that no work needs any more.
func (r *run) recheckEvents(ctx context.Context, sources []*task) error {
	members := make([]member, len(sources))
	of := make(map[identity.Source]*task, len(sources))
	for i, t := range sources {
		members[i], of[t.source] = member{Source: t.source, Before: t.before}, t
	}
	after := r.leftKept.take()
	for !r.over(ctx) {
		var events []looked
		var last *int64
		err := r.sparse(ctx, "delete_kept_events", func(ctx context.Context, tx pgx.Tx) error {
			rows, err := r.sql.DeleteKeptEvents.With(deleteKeptEvents{
				Members: members, After: after, Look: lookedAtAtOnce, Needed: r.needs.behind(after, math.MaxInt32), Since: r.needs.since,
			}).Query(ctx, tx)
			if err != nil {
				return err
			}
			if events, err = pgx.CollectRows(rows, scanLooked); err != nil {
				return err
			}
			err = r.sql.ForgetKeptEvents.With(forgetKeptEvents{After: after, Look: lookedAtAtOnce}).QueryRow(ctx, tx).Scan(&last)
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range events {
			t := of[e.source]
			switch {
			case t == nil:
			case e.fate == fateGone:
				t.rows++
			case e.fate == fateKept:
				t.kept++
			}
		}
		if last == nil {
			return nil
		}
		after = *last
	}
	r.leftKept.leave(after)
	return nil
}

// lookBehind finds the arrival time of the first event after the cursor of t.
func (r *run) lookBehind(ctx context.Context, t *task) error {
	var first time.Time
	err := r.db.Statement("oldest_event", func(db pipeline.ByIndex) error {
		return r.sql.OldestEvent.With(oldestEvent{After: t.acceptSeq}).QueryRow(ctx, db).Scan(&first)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the oldest event: %w", err)
	}
	t.oldest = first
	return nil
}
