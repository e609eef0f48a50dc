package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/commit"
)

const (
	// deliveriesAtOnce and bytesAtOnce limit one read of deliveries.
	deliveriesAtOnce = 100
	bytesAtOnce      = 8 << 20
)

// ErrUnfinished is returned when the time limit was reached before a day was exported and verified
// completely. The next call continues.
var ErrUnfinished = errors.New("the day is not exported completely yet")

// Export exports a day of deliveries, unless it is exported already, and verifies the files. The
// day must have ended, and its deliveries must still be in their table. If Export returns nil, the
// day may be dropped. The function over, which may be nil, reports whether the time limit has been
// reached. Errors: ErrUnfinished, *CorruptError.
func (a *Archive) Export(ctx context.Context, day time.Time, over func() bool) error {
	return a.noteFailure(ctx, day, a.export(ctx, day, over))
}

// noteFailure notes why the export of a day, or an erasure in it, failed, and returns the error. It
// notes nothing for ErrUnfinished, errOther and errors after ctx was cancelled. Reaching a deadline
// is a failure too, because the next calls may fail in the same way, and retention deletes nothing
// meanwhile.
func (a *Archive) noteFailure(ctx context.Context, day time.Time, why error) error {
	if why == nil || errors.Is(why, ErrUnfinished) || errors.Is(why, errOther) || errors.Is(ctx.Err(), context.Canceled) {
		return why
	}
	return errors.Join(why, a.fail(context.WithoutCancel(ctx), day, why))
}

func (a *Archive) fail(ctx context.Context, day time.Time, why error) error {
	return a.db.Do(ctx, "export_day", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := a.sql.FailDay.With(failDay{Day: day, Error: safetext.Storable(why.Error())}).Exec(ctx, tx)
		return err
	})
}

func (a *Archive) export(ctx context.Context, day time.Time, over func() bool) error {
	d, err := a.begin(ctx, day)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if d.Manifest != "" {
		err := a.recheck(ctx, d, over)
		if !isDamage(err) && !errors.Is(err, errDiffers) {
			return err
		}
		// The deliveries are still in their table, so the next call exports the day again.
		return errors.Join(err, a.forget(ctx, d))
	}
	w := dayWriter{Archive: a, day: d, over: over}
	if w.events, err = a.eventsOf(ctx, d); err != nil {
		return err
	}
	if err := w.write(ctx); err != nil {
		return err
	}
	a.takeSearch() // a later export of the day may find other events
	m := newManifest(d, w.day.parts, 0)
	count, ids, err := a.count(ctx, d)
	if err != nil {
		return err
	}
	if count != m.Deliveries {
		return errors.Join(fmt.Errorf("%d of %d deliveries were exported", m.Deliveries, count), a.forget(ctx, d))
	}
	m.IDs = newManifest(d, nil, ids).IDs
	_, err = a.publish(ctx, w.day, m, over)
	if isDamage(err) {
		return errors.Join(err, a.forget(ctx, w.day))
	}
	return err
}

// isDamage reports whether an error means that a file of the export is missing or differs from what
// was written.
func isDamage(err error) bool {
	_, corrupt := errors.AsType[*CorruptError](err)
	return corrupt || errors.Is(err, ErrNoFile)
}

// Verify reads back the files of an exported day that is no longer in its table. The function over,
// which may be nil, reports whether the time limit has been reached. Errors: ErrUnfinished,
// *CorruptError.
func (a *Archive) Verify(ctx context.Context, day time.Time, over func() bool) error {
	return a.noteFailure(ctx, day, a.verifyDay(ctx, day, over))
}

func (a *Archive) verifyDay(ctx context.Context, day time.Time, over func() bool) error {
	d, there, err := a.day(ctx, day)
	if err != nil {
		return err
	}
	if !there || d.Manifest == "" {
		return fmt.Errorf("deliveries of %s were detached from their table before they were exported: attach deliveries_%s again, with ALTER TABLE",
			day.Format(time.DateOnly), day.Format("20060102"))
	}
	m, err := a.manifest(ctx, d)
	if err != nil {
		return err
	}
	if err := a.verify(ctx, m.Parts, over); err != nil {
		return err
	}
	return a.succeeded(ctx, d)
}

// begin reads a day of the export, or adds the day if it is missing.
func (a *Archive) begin(ctx context.Context, day time.Time) (Day, error) {
	d, there, err := a.day(ctx, day)
	if err != nil || there {
		return d, err
	}
	err = a.db.Do(ctx, "export_day", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		var any bool
		if err := a.sql.AnyDay.QueryRow(ctx, tx).Scan(&any); err != nil {
			return err
		}
		if !any {
			if _, err := a.sql.LockDays.Exec(ctx, tx); err != nil {
				return err
			}
		}
		_, err := a.sql.BeginDay.With(oneDay{day}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return d, err
	}
	d, _, err = a.day(ctx, day)
	return d, err
}

// errDiffers is returned when the export of a day and the day's table contain different deliveries.
var errDiffers = errors.New("the deliveries in the export differ from those in the table")

// recheck compares an exported day with its table, and reads the files back.
func (a *Archive) recheck(ctx context.Context, d Day, over func() bool) error {
	m, err := a.manifest(ctx, d)
	if err != nil {
		return err
	}
	count, ids, err := a.count(ctx, d)
	if err != nil {
		return err
	}
	if table := newManifest(d, nil, ids); count != m.Deliveries || table.IDs != m.IDs {
		return fmt.Errorf("%w: %d instead of %d", errDiffers, m.Deliveries, count)
	}
	if err := a.verify(ctx, m.Parts, over); err != nil {
		return err
	}
	if err := a.sweep(ctx, d.Day); err != nil {
		return err
	}
	return a.succeeded(ctx, d)
}

// count returns the number of a day's deliveries in their table, and the XOR described at
// Manifest.IDs.
func (a *Archive) count(ctx context.Context, d Day) (count, ids int64, err error) {
	if err := a.sql.CountDay.With(d.span()).QueryRow(ctx, a.read).Scan(&count, &ids); err != nil {
		return 0, 0, fmt.Errorf("count deliveries: %w", err)
	}
	return count, ids, nil
}

// succeeded removes the note that the export of a day, or an erasure in it, failed.
func (a *Archive) succeeded(ctx context.Context, d Day) error {
	if d.FailedSince.IsZero() {
		return nil
	}
	return a.db.Do(ctx, "export_day", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := a.sql.ClearFailure.With(oneDay{d.Day}).Exec(ctx, tx)
		return err
	})
}

// forget makes a day unfinished, so that it is written again.
func (a *Archive) forget(ctx context.Context, d Day) error {
	former := (&Manifest{Parts: d.parts}).names()
	if d.Manifest != "" {
		former = append(former, d.Manifest)
		if m, err := a.manifest(ctx, d); err == nil { // otherwise the names of the day's files are unknown, and the files are not deleted
			former = append(former, m.names()...)
		}
	}
	return a.change(ctx, func(ctx context.Context, tx pgx.Tx) (int64, error) {
		tag, err := a.sql.ForgetDay.With(forgetDay{Day: d.Day, Was: d.Manifest, Former: former}).Exec(ctx, tx)
		return tag.RowsAffected(), err
	})
}

// dayWriter writes the parts of a day.
type dayWriter struct {
	*Archive

	day    Day
	events []arrived // sorted by delivery
	all    bool      // allEventsOf has listed the events
	over   func() bool
	part   partWriter
}

// write writes the parts that are missing.
func (w *dayWriter) write(ctx context.Context) error {
	at := deliveriesOfDay{From: w.day.span().From, Until: w.day.span().Until, Look: deliveriesAtOnce, Bytes: bytesAtOnce}
	if n := len(w.day.parts); n > 0 {
		at.After = w.day.parts[n-1].Last
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		began := time.Now()
		lines, err := w.lines(ctx, at)
		if err != nil {
			return err
		}
		if !w.all && slices.ContainsFunc(lines, func(l *Line) bool { return len(l.Events) == 0 }) {
			if w.events, err = w.allEventsOf(ctx, w.day, w.over); err != nil {
				return err
			}
			w.all = true
			continue // if a line still has no event, its events have expired
		}
		for _, line := range lines {
			if err := w.part.add(line); err != nil {
				return err
			}
			at.After = line.id
		}
		over := w.over != nil && w.over()
		if w.part.full() || w.part.part.Deliveries > 0 && (over || len(lines) == 0) {
			if err := w.endPart(ctx); err != nil {
				return err
			}
		}
		if len(lines) == 0 {
			return nil
		}
		if over {
			return ErrUnfinished
		}
		_ = retry.Wait(ctx, min(time.Since(began), time.Second)) // deliveries that arrive now have priority
	}
}

// endPart writes the collected lines as a part, and records the part in the day's row.
func (w *dayWriter) endPart(ctx context.Context) error {
	part, data, index, err := w.part.end(w.day.Name(), len(w.day.parts))
	if err != nil {
		return err
	}
	if err := w.put(ctx, w.day, map[string][]byte{part.Name: data, part.Index: index}); err != nil {
		return err
	}
	text, err := plainjson.Marshal(part)
	if err != nil {
		return fmt.Errorf("encode part: %w", err)
	}
	err = w.change(ctx, func(ctx context.Context, tx pgx.Tx) (int64, error) {
		tag, err := w.sql.AddPart.With(addPart{Day: w.day.Day, BegunAt: w.day.begunAt, Part: text, Parts: len(w.day.parts)}).Exec(ctx, tx)
		return tag.RowsAffected(), err
	})
	if err != nil {
		return fmt.Errorf("note a part: %w", err)
	}
	w.day.parts = append(w.day.parts, part)
	w.part = partWriter{}
	return nil
}

// lines reads the next deliveries and their events in one snapshot. If an event could be erased
// between the two reads, its line would contain the body, although the event's row says that it is
// erased. No later erasure would change such a line.
func (w *dayWriter) lines(ctx context.Context, at deliveriesOfDay) ([]*Line, error) {
	var lines []*Line
	moment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, w.read, moment, func(tx pgx.Tx) (err error) {
		if lines, err = w.deliveries(ctx, tx, at); err != nil {
			return fmt.Errorf("read deliveries: %w", err)
		}
		if err := w.addEvents(ctx, tx, lines); err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		return nil
	})
	return lines, err
}

// deliveries reads the next deliveries. It rolls its planner settings back, because Postgres might
// read a complete index for the next statement under pipeline.SettingsInOrder.
func (w *dayWriter) deliveries(ctx context.Context, tx pgx.Tx, at deliveriesOfDay) ([]*Line, error) {
	inner, err := tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := w.sql.DeliveriesOfDay.With(at).Query(ctx, pipeline.ByIndex{Sender: inner, InOrder: true})
	if err != nil {
		return nil, err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Line, error) {
		line := new(Line)
		return line, row.Scan(&line.id, &line.Body, &line.Delivery, &line.Copies)
	})
	if err != nil {
		return nil, err
	}
	return lines, inner.Rollback(ctx)
}

// addEvents reads the events of deliveries, and adds them to the lines.
func (w *dayWriter) addEvents(ctx context.Context, tx pgx.Tx, lines []*Line) error {
	var asked []int64
	of := map[int64]*Line{}
	for _, line := range lines {
		first, _ := slices.BinarySearchFunc(w.events, line.id, func(e arrived, id uuid.UUID) int { return bytes.Compare(e.delivery[:], id[:]) })
		for _, e := range w.events[first:] {
			if e.delivery != line.id {
				break
			}
			asked, of[e.acceptSeq] = append(asked, e.acceptSeq), line
		}
	}
	rows, err := w.sql.EventDocuments.With(eventDocuments{asked}).Query(ctx, pipeline.ByIndex{Sender: tx})
	if err != nil {
		return err
	}
	var acceptSeq int64
	var row, effects, replays json.RawMessage
	_, err = pgx.ForEachRow(rows, []any{&acceptSeq, &row, &effects, &replays}, func() error {
		e := &Event{Row: slices.Clone(row), Effects: slices.Clone(effects), Replays: slices.Clone(replays)}
		if err := json.Unmarshal(e.Row, &e.EventRef); err != nil {
			return err
		}
		if err := e.hideOthers(); err != nil {
			return err
		}
		of[acceptSeq].Events = append(of[acceptSeq].Events, e)
		return nil
	})
	return err
}
