package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// notesAtOnce is the number of erasures that one pass over the export carries out.
const notesAtOnce = 10_000

// note is an erasure that may still have to be carried out in the export.
type note struct {
	identity.EventRef

	text        string // replaces the errors of the event and its effects
	redacting   bool   // erased by a setting of the source, not by an operator
	requestedAt time.Time
}

type notes map[identity.EventRef]note

// NoteErasureTx notes the erasure of an event that only the export contains, in the transaction
// that records the erasure.
func (a *Archive) NoteErasureTx(ctx context.Context, tx pgx.Tx, ref identity.EventRef, text string) error {
	if _, err := a.sql.NoteErasure.With(noteErasure{ref, text}).Exec(ctx, tx); err != nil {
		return fmt.Errorf("note the erasure of %s: %w", ref, err)
	}
	return nil
}

// EraseNoted erases the events of noted erasures in all exported days. It may be repeated: if it
// fails, the notes stay for a later call. EraseNoted calls the function still before each day and
// returns its error; still may be nil.
func (a *Archive) EraseNoted(ctx context.Context, still func(context.Context) error) error {
	for at := (notedErasures{Look: notesAtOnce}); ; {
		noted, last, err := a.collectNotes(ctx, a.sql.NotedErasures.With(at))
		if err != nil {
			return err
		}
		if len(noted) == 0 {
			return nil
		}
		at.EventRef, at.After = last.EventRef, last.requestedAt
		if err := a.eraseAll(ctx, noted, still); err != nil {
			return err
		}
	}
}

// eraseAll erases the noted events, and deletes the notes unless a day is unfinished.
func (a *Archive) eraseAll(ctx context.Context, noted notes, still func(context.Context) error) error {
	days, err := a.Days(ctx)
	if err != nil {
		return err
	}
	passed := false // true after an unfinished day
	for _, listed := range days {
		if still != nil {
			if err := still(ctx); err != nil {
				return err
			}
		}
		// Other processes may have changed the day since the list was read.
		d, there, err := a.day(ctx, listed.Day)
		if err != nil {
			return err
		}
		if d.Manifest == "" {
			if there {
				unfinished, err := a.mayBeFinished(ctx, d)
				if err != nil {
					return err
				}
				passed = passed || unfinished
			}
			continue
		}
		if err := a.eraseDay(ctx, d, noted); err != nil {
			return fmt.Errorf("erase in the export of %s: %w", d.Name(), err)
		}
	}
	if passed {
		return nil // the day may have been finished meanwhile, with content that was read before the erasure
	}
	var done forgetErasures
	for _, n := range noted {
		done.Notes = append(done.Notes, doneNote{n.EventRef, n.requestedAt})
	}
	err = a.db.Do(ctx, "erase_exported", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		// A day that is being exported may have been read before the erasure.
		var unfinished bool
		if err := a.sql.UnfinishedDay.QueryRow(ctx, tx).Scan(&unfinished); err != nil || unfinished {
			return err
		}
		_, err := a.sql.ForgetErasures.With(done).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget erasures that are complete: %w", err)
	}
	return nil
}

// mayBeFinished reports whether an unfinished day may still be finished. Otherwise a process without
// an export has dropped the day, and mayBeFinished removes the day and its files from the export:
// notes about erasures would wait for that day forever.
func (a *Archive) mayBeFinished(ctx context.Context, d Day) (bool, error) {
	var stored bool
	if err := a.sql.DayIsStored.With(oneDay{d.Day}).QueryRow(ctx, a.read).Scan(&stored); err != nil {
		return false, fmt.Errorf("look for the deliveries of %s: %w", d.Name(), err)
	}
	if stored {
		return true, nil
	}
	err := a.abandon(ctx, d)
	if errors.Is(err, errOther) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove %s, which was dropped unfinished, from the export: %w", d.Name(), err)
	}
	return false, nil
}

// abandon removes an unfinished day and its files. A process that is still writing the day fails
// with errOther, and deletes what it has written meanwhile. abandon then may return errOther too.
func (a *Archive) abandon(ctx context.Context, d Day) error {
	if err := a.forget(ctx, d); err != nil {
		return err
	}
	d, there, err := a.day(ctx, d.Day)
	if err != nil || !there {
		return err
	}
	if err := a.remove(ctx, d.Day, d.garbage); err != nil {
		return err
	}
	return a.change(ctx, func(ctx context.Context, tx pgx.Tx) (int64, error) {
		tag, err := a.sql.DeleteDay.With(deleteDay{d.Day, d.begunAt}).Exec(ctx, tx)
		return tag.RowsAffected(), err
	})
}

// eraseDay erases the noted events in a day, and deletes the day's files that are not needed.
func (a *Archive) eraseDay(ctx context.Context, d Day, noted notes) error {
	err := a.eraseIn(ctx, d, noted)
	if err == nil {
		err = a.sweep(ctx, d.Day)
	}
	if isDamage(err) {
		err = errors.Join(err, a.unchanged(ctx, d)) // another process may have deleted the file
	}
	if err == nil {
		return a.succeeded(ctx, d)
	}
	return a.noteFailure(ctx, d.Day, err)
}

// eraseIn rewrites the parts of a day that contain one of the events.
func (a *Archive) eraseIn(ctx context.Context, d Day, noted notes) error {
	m, err := a.manifest(ctx, d)
	if err != nil {
		return err
	}
	hashes := make(map[uint64]bool, len(noted))
	for ref := range noted {
		hashes[hashOf(ref)] = true
	}
	changed := *m
	changed.Parts = append([]Part(nil), m.Parts...)
	rewritten := false
	for i, p := range m.Parts {
		has, err := a.has(ctx, p, hashes)
		if err != nil {
			return err
		}
		if !has {
			continue
		}
		part, err := a.rewrite(ctx, d, i, p, noted)
		if err != nil {
			return err
		}
		if part.Name != "" {
			changed.Parts[i], rewritten = part, true
		}
	}
	if !rewritten {
		return nil
	}
	again := newManifest(d, changed.Parts, 0)
	again.IDs = m.IDs
	return a.publish(ctx, d, again, nil)
}

// has reports whether a part's index has one of the hashes.
func (a *Archive) has(ctx context.Context, p Part, hashes map[uint64]bool) (bool, error) {
	asked := map[int]bool{}
	for hash := range hashes {
		asked[sectionOf(hash, len(p.Sections))] = true
	}
	for number := range asked {
		entries, err := a.section(ctx, p, number)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if hashes[e.hash] {
				return true, nil
			}
		}
	}
	return false, nil
}

// rewrite writes a part without the content of the noted events. It returns the zero Part if the
// part has none of their content.
func (a *Archive) rewrite(ctx context.Context, d Day, number int, p Part, noted notes) (Part, error) {
	data, err := a.get(ctx, p.Name, p.SHA256)
	if err != nil {
		return Part{}, err
	}
	lines, err := decodeLines(data)
	if err != nil {
		return Part{}, &CorruptError{p.Name, err.Error()}
	}
	var w partWriter
	erased := false
	for _, line := range lines {
		changed, err := line.erase(noted)
		if err != nil {
			return Part{}, err
		}
		erased = erased || changed
		if err := w.add(line); err != nil {
			return Part{}, err
		}
	}
	if !erased {
		return Part{}, nil
	}
	part, data, index, err := w.end(d.Name(), number)
	if err == nil {
		err = a.put(ctx, d, map[string][]byte{part.Name: data, part.Index: index})
	}
	return part, err
}

// notesOf returns the noted erasures of these events.
func (a *Archive) notesOf(ctx context.Context, refs []identity.EventRef) (notes, error) {
	noted, _, err := a.collectNotes(ctx, a.sql.NotesOfEvents.With(notesOfEvents{refs}))
	return noted, err
}

func (a *Archive) collectNotes(ctx context.Context, sql statement.Bound) (noted notes, last note, err error) {
	rows, err := sql.Query(ctx, a.inOrder())
	if err != nil {
		return nil, last, fmt.Errorf("read noted erasures: %w", err)
	}
	noted = notes{}
	_, err = pgx.ForEachRow(rows, []any{&last.Source, &last.EventID, &last.text, &last.redacting, &last.requestedAt}, func() error {
		noted[last.EventRef] = last
		return nil
	})
	if err != nil {
		return nil, last, fmt.Errorf("read noted erasures: %w", err)
	}
	return noted, last, nil
}
