package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// daysAtOnce is the number of days dropped together. The needs of effects are read twice for all of
// these days.
const daysAtOnce = 8

// dropPayloads drops the expired days of search values, and then of deliveries. It first copies the
// deliveries that unfinished work needs. Until a day is detached, a replay may find a delivery in it
// and need the delivery. dropPayloads therefore copies needed deliveries again before it drops the
// day.
func (r *run) dropPayloads(ctx context.Context, t *task) error {
	if err := r.dropSearchValues(ctx, t); err != nil {
		return err
	}
	days, err := r.partitions(ctx, wholeDeliveries)
	if err != nil {
		return err
	}
	past := slices.IndexFunc(days, func(p partition) bool { return p.end().After(t.before) })
	t.oldest = time.Time{}
	if past >= 0 {
		t.oldest = days[past].day
		days = days[:past]
	}
	for together := range slices.Chunk(days, daysAtOnce) {
		if r.over(ctx) {
			t.oldest = together[0].day
			return nil
		}
		exported, err := r.exportDays(ctx, together)
		if len(exported) > 0 {
			err = errors.Join(err, r.dropPayloadsOf(ctx, t, exported))
		}
		if err != nil || r.exporting {
			t.oldest = together[0].day
			return err
		}
	}
	if err := r.recheckDeliveries(ctx, t); err != nil {
		return err
	}
	notes := &task{before: t.oldest} // notes about copies in deliveries of dropped days
	if t.oldest.IsZero() {
		notes.before = t.before.Truncate(Day)
	}
	return r.deleteOld(ctx, notes, "delete_copies", r.sql.DeleteCopies)
}

// dropSearchValues drops the expired days of search values. Unfinished work needs none of them.
func (r *run) dropSearchValues(ctx context.Context, t *task) error {
	days, err := r.partitions(ctx, wholeSearchValues)
	if err != nil {
		return err
	}
	for _, p := range days {
		if p.end().After(t.before) || r.over(ctx) {
			return nil
		}
		if err := r.detach(ctx, p); err != nil {
			return err
		}
		if err := r.drop(ctx, p); err != nil {
			return err
		}
		t.rows, t.size = t.rows+p.rows, t.size+p.bytes
	}
	return nil
}

// dropPayloadsOf drops several days. If one of them cannot be detached, only the days before it are
// dropped.
func (r *run) dropPayloadsOf(ctx context.Context, t *task, days []partition) error {
	if err := r.keepNeeded(ctx, days); err != nil {
		return err
	}
	var failed error
	for i, p := range days {
		if failed = r.detach(ctx, p); failed != nil {
			days = days[:i]
			break
		}
	}
	if len(days) == 0 {
		return failed
	}
	if err := r.keepNeeded(ctx, days); err != nil {
		return errors.Join(failed, err)
	}
	for _, p := range days {
		if err := r.drop(ctx, p); err != nil {
			return errors.Join(failed, err)
		}
		t.rows, t.size = t.rows+p.rows, t.size+p.bytes
		if r.order.Progress != nil {
			r.order.Progress(t.part())
		}
	}
	return failed
}

// keepNeeded copies, out of the given days, the deliveries that unfinished work needs.
func (r *run) keepNeeded(ctx context.Context, days []partition) error {
	needs, err := r.need(ctx)
	if err != nil {
		return err
	}
	for events := range slices.Chunk(needs.payloads, lookedAtAtOnce) {
		came, err := r.whenTheyCame(ctx, events)
		if err != nil {
			return err
		}
		for _, p := range days {
			if err := r.keepDeliveries(ctx, p, came.during(p)); err != nil {
				return err
			}
		}
	}
	for _, p := range days {
		err := r.eachUnfinished(ctx, p.day.Unix(), p.end().Unix(), func(events []int64) error { return r.keepDeliveries(ctx, p, events) })
		if err != nil {
			return err
		}
	}
	return nil
}

// keepDeliveries copies the deliveries of the given events out of a day.
func (r *run) keepDeliveries(ctx context.Context, p partition, events []int64) error {
	if len(events) == 0 {
		return nil
	}
	err := r.db.Do(ctx, "keep_deliveries", commit.Limits{Recurring: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := r.sql.KeepDeliveries.With(keepDeliveries{Day: p.day, Events: events}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep deliveries of %s: %w", p.day.Format(time.DateOnly), err)
	}
	return nil
}

// eachUnfinished calls f, in slices, with the events that wait for their dispatch or need
// attention. It selects events received in the given period, in seconds since 1970.
func (r *run) eachUnfinished(ctx context.Context, from, until int64, f func(events []int64) error) error {
	for at := (eventsReceived{From: from, Until: until, Look: lookedAtAtOnce}); ; {
		rows, err := r.sql.EventsReceived.With(at).Query(ctx, byIndex(r))
		if err != nil {
			return fmt.Errorf("look for undispatched events: %w", err)
		}
		var source identity.Source
		var seq int64
		var events []int64
		if _, err = pgx.ForEachRow(rows, []any{&source, &seq}, func() error { events = append(events, seq); return nil }); err != nil {
			return fmt.Errorf("look for undispatched events: %w", err)
		}
		if len(events) == 0 {
			break
		}
		if err := f(events); err != nil {
			return err
		}
		at.Source, at.After = source, seq
	}
	for at := (eventsPutAside{From: from, Until: until, Look: lookedAtAtOnce}); ; {
		rows, err := r.sql.EventsPutAside.With(at).Query(ctx, byIndex(r))
		if err != nil {
			return fmt.Errorf("look for failed events: %w", err)
		}
		events, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("look for failed events: %w", err)
		}
		if len(events) == 0 {
			return nil
		}
		if err := f(events); err != nil {
			return err
		}
		at.After = events[len(events)-1]
	}
}

// anyTime is later than the time of any event: the end of the year 9999, in Unix seconds.
const anyTime = 253402300799

// recheckDeliveries deletes the kept deliveries that are no longer needed. First it notes events
// that now need a delivery kept for another event.
func (r *run) recheckDeliveries(ctx context.Context, t *task) error {
	needs, err := r.need(ctx)
	if err != nil {
		return err
	}
	note := func(events []int64) error {
		return r.alone(ctx, "note_kept_deliveries", func(ctx context.Context, tx pgx.Tx) error {
			_, err := r.sql.NoteKeptDeliveries.With(keepEvents{Events: events}).Exec(ctx, tx)
			return err
		})
	}
	for events := range slices.Chunk(needs.payloads, lookedAtAtOnce) {
		if err := note(events); err != nil {
			return err
		}
	}
	if err := r.eachUnfinished(ctx, 0, anyTime, note); err != nil {
		return err
	}
	at := deleteKeptDeliveries{After: r.leftDeliveries.take(), Look: lookedAtAtOnce, Needed: needs.payloads, Since: needs.since}
	for !r.over(ctx) {
		var last *uuid.UUID
		var seen, gone int64
		err := r.sparse(ctx, "delete_kept_deliveries", func(ctx context.Context, tx pgx.Tx) error {
			return r.sql.DeleteKeptDeliveries.With(at).QueryRow(ctx, tx).Scan(&seen, &gone, &last)
		})
		if err != nil {
			return err
		}
		t.rows, t.kept = t.rows+gone, t.kept+seen-gone
		if last == nil {
			return nil
		}
		at.After = *last
	}
	r.leftDeliveries.leave(at.After)
	return nil
}
