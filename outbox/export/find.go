package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// daysAtOnce is the number of days that a search reads at the same time.
const daysAtOnce = 16

// Found is an event in the export.
type Found struct {
	Day   time.Time
	Line  *Line  // its delivery
	Event *Event // one of Line.Events
}

// Find finds an event in the exported day that contains the time at which the event was received.
// If day is zero, Find searches all days and returns the event from the newest day. Find returns
// nil if the export has no such event.
func (a *Archive) Find(ctx context.Context, ref identity.EventRef, day time.Time) (*Found, error) {
	days, err := a.daysOf(ctx, day)
	if err != nil {
		return nil, err
	}
	found := make([]*Found, len(days))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(daysAtOnce)
	for i, d := range days {
		if d.Manifest == "" {
			continue
		}
		group.Go(func() error {
			var err error
			found[i], err = a.findIn(within, d, ref)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("look for event %s in the export: %w", ref, err)
	}
	for _, f := range found {
		if f != nil {
			return f, nil
		}
	}
	return nil, nil //nolint:nilnil // documented
}

// daysOf returns the day that contains a time, or all days for the zero time, newest first.
func (a *Archive) daysOf(ctx context.Context, at time.Time) ([]Day, error) {
	if at.IsZero() {
		return a.Days(ctx)
	}
	d, there, err := a.day(ctx, at.UTC().Truncate(24*time.Hour))
	if err != nil || !there {
		return nil, err
	}
	return []Day{d}, nil
}

// findTries is the number of tries to find an event while an erasure replaces the day's files.
const findTries = 5

// findIn finds an event in a day, without content that noted erasures have yet to remove.
func (a *Archive) findIn(ctx context.Context, d Day, ref identity.EventRef) (*Found, error) {
	for try := 1; ; try++ {
		found, err := a.findOnce(ctx, d, ref)
		if err == nil && found != nil {
			err = a.eraseFound(ctx, found)
		}
		if err != nil && !errors.Is(err, ErrNoFile) || err == nil && found == nil {
			return nil, err
		}
		// An erasure deletes its note after it has replaced the manifest. If the manifest is still
		// the same, all notes were read.
		now, there, readErr := a.day(ctx, d.Day)
		if readErr != nil || !there || now.Manifest == d.Manifest || now.Manifest == "" || try == findTries {
			return found, errors.Join(err, readErr)
		}
		d = now
	}
}

// eraseFound removes content that noted erasures have yet to remove from the files.
func (a *Archive) eraseFound(ctx context.Context, found *Found) error {
	notes, err := a.notesOf(ctx, found.Line.refs())
	if err != nil {
		return err
	}
	_, err = found.Line.erase(notes)
	return err
}

func (a *Archive) findOnce(ctx context.Context, d Day, ref identity.EventRef) (*Found, error) {
	m, err := a.manifest(ctx, d)
	if err != nil {
		return nil, err
	}
	hash := hashOf(ref)
	for _, p := range m.Parts {
		entries, err := a.section(ctx, p, sectionOf(hash, len(p.Sections)))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.hash != hash {
				continue
			}
			block, err := a.storage.Get(ctx, p.Name, int64(e.offset), int64(e.length)) //nolint:gosec // an offset in a part fits
			if err != nil {
				return nil, fmt.Errorf("read %s from %s: %w", p.Name, a.storage, err)
			}
			lines, err := decodeLines(block)
			if err != nil {
				return nil, &CorruptError{p.Name, err.Error()}
			}
			for _, line := range lines {
				if event := line.event(ref); event != nil {
					return &Found{Day: d.Day, Line: line, Event: event}, nil
				}
			}
		}
	}
	return nil, nil //nolint:nilnil // not in this day
}

// section reads one section of a part's index.
func (a *Archive) section(ctx context.Context, p Part, number int) ([]entry, error) {
	var offset int64
	for _, s := range p.Sections[:number] {
		offset += s.Bytes
	}
	s := p.Sections[number]
	if s.Bytes == 0 {
		return nil, nil
	}
	content, err := a.storage.Get(ctx, p.Index, offset, s.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read %s from %s: %w", p.Index, a.storage, err)
	}
	if sumOf(content) != s.SHA256 {
		return nil, &CorruptError{p.Index, "a section does not have its checksum"}
	}
	return decodeEntries(content), nil
}

// ReadPart returns the events of one part of a day, without content that noted erasures have yet to
// remove. It returns no events if the day has no part with this number, and reports whether more
// parts follow.
func (a *Archive) ReadPart(ctx context.Context, d Day, number int) (found []*Found, more bool, err error) {
	m, err := a.manifest(ctx, d)
	if err != nil || number >= len(m.Parts) {
		return nil, false, err
	}
	data, err := a.get(ctx, m.Parts[number].Name, m.Parts[number].SHA256)
	if err != nil {
		return nil, false, err
	}
	lines, err := decodeLines(data)
	if err != nil {
		return nil, false, &CorruptError{m.Parts[number].Name, err.Error()}
	}
	var refs []identity.EventRef
	for _, line := range lines {
		refs = append(refs, line.refs()...)
	}
	noted, err := a.notesOf(ctx, refs)
	if err != nil {
		return nil, false, err
	}
	for _, line := range lines {
		if _, err := line.erase(noted); err != nil {
			return nil, false, err
		}
		for _, e := range line.Events {
			found = append(found, &Found{Day: d.Day, Line: line, Event: e})
		}
	}
	return found, number+1 < len(m.Parts), nil
}
