package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
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
	redacting   bool   // requested by the redaction settings of the source, not by an operator
	requestedAt time.Time
	receivedAt  time.Time // of a redacted event whose row is stored; otherwise zero
}

// clockError is the largest error of the database's clock that an erasure allows for. An event may
// have been received while the clock was ahead. A delivery that repeats the event may have arrived
// after the clock was set right, and may therefore belong to an earlier day.
const clockError = 7 * 24 * time.Hour

// concerns reports whether a day may contain the event. Redactions are noted every minute, and most
// redacted events are newer than every exported day. No file has to be read for such events.
func (n note) concerns(d Day) bool {
	return n.receivedAt.IsZero() || d.span().Until.After(n.receivedAt.Add(-clockError))
}

type notes map[identity.EventRef]note

// of returns the notes that concern a day.
func (n notes) of(d Day) notes {
	some := notes{}
	for ref, one := range n {
		if one.concerns(d) {
			some[ref] = one
		}
	}
	return some
}

// walk is one pass of noted erasures over the exported days, newest first.
type walk struct {
	noted  notes
	after  time.Time // the last day that was visited; zero: none
	passed bool      // a visited day was unfinished

	// part is the number of parts of the next day that were visited before the walk was
	// interrupted. These parts are listed in the manifest that the field manifest names. The walk
	// has read or published that manifest.
	part     int
	manifest string
}

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
// between the parts of a day, and returns its error; still may be nil. This process's next call
// then continues there: a large export takes longer to visit than one call may last.
func (a *Archive) EraseNoted(ctx context.Context, still func(context.Context) error) error {
	if left := a.takeWalk(); left != nil {
		if err := a.eraseAll(ctx, left, still); err != nil {
			return err
		}
	}
	for at := (notedErasures{Look: notesAtOnce}); ; {
		noted, last, err := a.collectNotes(ctx, a.sql.NotedErasures.With(at))
		if err != nil {
			return err
		}
		if len(noted) == 0 {
			return nil
		}
		at.EventRef, at.After = last.EventRef, last.requestedAt
		if err := a.eraseAll(ctx, &walk{noted: noted}, still); err != nil {
			return err
		}
	}
}

// takeWalk returns the walk that an error of still interrupted, or nil, and forgets it.
func (a *Archive) takeWalk() *walk {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := a.left
	a.left = nil
	return left
}

// eraseAll erases the noted events, and deletes the notes unless a day is unfinished.
func (a *Archive) eraseAll(ctx context.Context, w *walk, still func(context.Context) error) error {
	if still == nil {
		still = func(context.Context) error { return nil }
	}
	days, err := a.Days(ctx)
	if err != nil {
		return err
	}
	for _, listed := range days {
		if !w.after.IsZero() && !listed.Day.Before(w.after) {
			continue // visited already, or exported only after the erasures
		}
		for visited := false; !visited; visited = w.part == 0 {
			if err := still(ctx); err != nil {
				a.mu.Lock()
				a.left = w
				a.mu.Unlock()
				return err
			}
			if err := a.visit(ctx, listed, w, still); err != nil {
				return err
			}
		}
		w.after = listed.Day
	}
	if w.passed {
		return nil // the day may have been finished meanwhile, with content that was read before the erasure
	}
	return a.forgetNotes(ctx, w.noted)
}

// visit erases the noted events in one day.
func (a *Archive) visit(ctx context.Context, listed Day, w *walk, still func(context.Context) error) error {
	noted := w.noted.of(listed)
	if len(noted) == 0 && listed.Manifest != "" && len(listed.garbage) == 0 {
		w.part = 0 // the part belonged to another day, which has left the export
		return nil
	}
	// Other processes may have changed the day since the list was read.
	d, there, err := a.day(ctx, listed.Day)
	if err != nil {
		return err
	}
	if d.Manifest != "" {
		if err := a.eraseDay(ctx, d, noted, w, still); err != nil {
			return fmt.Errorf("erase in the export of %s: %w", d.Name(), err)
		}
		return nil
	}
	w.part = 0
	if !there {
		return nil
	}
	unfinished, err := a.mayBeFinished(ctx, d)
	w.passed = w.passed || unfinished
	return err
}

// forgetNotes deletes notes about erasures that are complete.
func (a *Archive) forgetNotes(ctx context.Context, noted notes) error {
	var done forgetErasures
	for _, n := range noted {
		done.Notes = append(done.Notes, doneNote{n.EventRef, n.requestedAt})
	}
	err := a.db.Do(ctx, "erase_exported", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
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

// mayBeFinished reports whether an unfinished day may still be finished. If a process without an
// export has dropped the day, mayBeFinished removes the day and its files from the export. Notes
// about erasures would otherwise wait for that day forever.
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
// with errOther, and deletes what it has written meanwhile. abandon may then return errOther too.
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
func (a *Archive) eraseDay(ctx context.Context, d Day, noted notes, w *walk, still func(context.Context) error) error {
	err := a.eraseIn(ctx, d, noted, w, still)
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

// eraseIn rewrites the parts of a day that contain a noted event. If still returns an error,
// eraseIn publishes the parts that it has rewritten so far, and sets w.part.
func (a *Archive) eraseIn(ctx context.Context, d Day, noted notes, w *walk, still func(context.Context) error) error {
	visited := 0
	if d.Manifest == w.manifest {
		visited = w.part
	}
	w.part = 0
	if len(noted) == 0 {
		return nil
	}
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
		if i < visited {
			continue
		}
		if i > visited && still(ctx) != nil {
			w.part = i
			break
		}
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
		w.manifest = d.Manifest
		return nil
	}
	again := newManifest(d, changed.Parts, 0)
	again.IDs = m.IDs
	w.manifest, err = a.publish(ctx, d, again, nil)
	return err
}

// has reports whether a part's index contains one of the hashes.
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
	var receivedAt *time.Time
	_, err = pgx.ForEachRow(rows, []any{&last.Source, &last.EventID, &last.text, &last.redacting, &last.requestedAt, &receivedAt}, func() error {
		last.receivedAt = column.OrZero(receivedAt)
		noted[last.EventRef] = last
		return nil
	})
	if err != nil {
		return nil, last, fmt.Errorf("read noted erasures: %w", err)
	}
	return noted, last, nil
}
