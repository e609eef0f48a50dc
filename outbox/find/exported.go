package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// ofExport is the prefix of cursors for events that only the export contains.
const ofExport = "export:"

// FirstExported is the position before all events that only the export has.
const FirstExported Cursor = ofExport

// exportedAtOnce is the number of exported events that are decoded together.
const exportedAtOnce = 500

// exportedPlace is a position among the exported events: a day, a part of it, and the number of the
// part's events that precede the position.
type exportedPlace struct {
	day        string
	part, past int
}

func (p exportedPlace) cursor() Cursor {
	return Cursor(fmt.Sprintf("%s%s.%d.%d", ofExport, p.day, p.part, p.past))
}

// exported parses a position among the exported events.
func (c Cursor) exported() (p exportedPlace, err error) {
	if c == FirstExported {
		return p, nil
	}
	day, rest, _ := strings.Cut(strings.TrimPrefix(string(c), ofExport), ".")
	p.day = day
	if _, err := fmt.Sscanf(rest, "%d.%d", &p.part, &p.past); err != nil || !c.IsExported() {
		return p, fmt.Errorf("%q is %w of exported events", string(c), ErrCursor)
	}
	return p, nil
}

// IsExported reports whether a cursor is a position among events that only the export has.
func (c Cursor) IsExported() bool { return strings.HasPrefix(string(c), ofExport) }

// HasExport reports whether f also searches an export.
func (f *Finder) HasExport() bool { return f.export != nil }

// ExportedToChange continues EventsToChange with the events that only the export has, by day, for an
// action on each. It begins at FirstExported. A page reads one part of a day. Erased events, and
// events accepted after the position last, are omitted.
func (f *Finder) ExportedToChange(ctx context.Context, asked Events, from Cursor, last int64) (Page[Found], error) {
	page, err := f.exportedToChange(ctx, asked, from, last)
	if err != nil {
		return page, fmt.Errorf("find exported events: %w", err)
	}
	return page, nil
}

func (f *Finder) exportedToChange(ctx context.Context, asked Events, from Cursor, last int64) (Page[Found], error) {
	page := Page[Found]{Next: from}
	judge, _, err := f.judgeOf(ctx, asked.Content)
	if err != nil {
		return page, err
	}
	at, err := from.exported()
	if err != nil {
		return page, err
	}
	days, err := f.exportedDays(ctx, asked.Span, at.day)
	if err != nil || len(days) == 0 {
		return page, err
	}
	if days[0].Name() != at.day {
		at = exportedPlace{day: days[0].Name()}
	}
	found, more, err := f.export.ReadPart(ctx, days[0], at.part)
	if err != nil {
		return page, err
	}
	for at.past < len(found) {
		some := found[at.past:min(at.past+exportedAtOnce, len(found))]
		rows, err := f.exportedFound(ctx, asked, judge.telling(), some, at, last)
		if err != nil {
			return page, err
		}
		page.Rows, page.Looked, at.past = append(page.Rows, rows...), page.Looked+len(some), at.past+len(some)
	}
	page.judgedBy(judge)
	next := exportedPlace{day: at.day, part: at.part + 1}
	if !more {
		next = exportedPlace{day: days[0].Day.AddDate(0, 0, 1).Format(time.DateOnly)}
	}
	page.Next, page.More = next.cursor(), more || len(days) > 1
	return page, nil
}

// exportedDays lists the exported days that may have events of a time span, oldest first. It omits
// the days before the day that the parameter from names.
func (f *Finder) exportedDays(ctx context.Context, s Span, from string) ([]export.Day, error) {
	days, err := f.export.Days(ctx)
	slices.Reverse(days)
	return slices.DeleteFunc(days, func(d export.Day) bool {
		return d.Manifest == "" || d.Name() < from ||
			!s.Until.IsZero() && !d.Day.Before(s.Until) || !s.Since.IsZero() && !d.Day.AddDate(0, 0, 1).After(s.Since)
	}), err
}

// exportedFound returns the rows of ExportedToChange for a slice of a part's events. It omits
// erased events, events accepted after the position last, and events that the database still has.
// From the rest it selects the events that match or cannot be decided. The parameter at is the
// position before the slice.
func (f *Finder) exportedFound(ctx context.Context, asked Events, judge *judge, some []*export.Found, at exportedPlace, last int64) ([]Found, error) {
	refs := make([]identity.EventRef, len(some))
	for i, one := range some {
		refs[i] = one.Event.EventRef
	}
	stored, err := f.inbox.EventsByRef(ctx, refs)
	if err != nil {
		return nil, err
	}
	events, err := f.inbox.Decode(ctx, some)
	if err != nil {
		return nil, err
	}
	var rows []Found
	for _, e := range events {
		at.past++
		if stored[e.EventRef] != nil || e.AcceptSeq > last || !e.ErasedAt.IsZero() || !asked.takes(e) {
			continue
		}
		one, yes := Found{Cursor: at.cursor(), At: e.ReceivedAt, Event: e.EventRef}, true
		if judge != nil {
			yes, one.Unclear = judge.decide(e)
		}
		if yes || one.Unclear != nil {
			rows = append(rows, one)
		}
	}
	return rows, nil
}
