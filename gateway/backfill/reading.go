package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/coverage"
)

const (
	// maxItems and maxBytes limit the items, and the bytes of their bodies, that a pass holds
	// before it stores them.
	maxItems = 10_000
	maxBytes = 32 << 20
	// crowdedSecond is the factor by which the shortest slice may exceed maxItems and maxBytes.
	crowdedSecond = 8
)

var errTooMany = errors.New("too many events")

// collection holds what was read from a list but not stored yet.
type collection struct {
	items  []Item
	bytes  int
	places map[string]bool // the next cursors of all pages read so far
}

// add appends a page's items that happened between since and until. It returns an error if the list
// repeats a cursor, or if the collection exceeds the limits.
func (c *collection) add(pg page, since, until time.Time) error {
	if c.places == nil {
		c.places = map[string]bool{}
	}
	if pg.next != "" && c.places[pg.next] {
		return errors.New("the list repeats itself: a page links to one that was already read")
	}
	c.places[pg.next] = true
	for _, i := range pg.items {
		if !i.At.IsZero() && (i.At.Before(since) || !i.At.Before(until)) {
			continue
		}
		if i.request != nil {
			c.bytes += len(i.request.Body)
		}
		c.items = append(c.items, i)
	}
	if len(c.items) > maxItems || c.bytes > maxBytes {
		return errTooMany
	}
	return nil
}

// crowded returns an error if one second has more events than is plausible.
func (c *collection) crowded() error {
	if len(c.items) > crowdedSecond*maxItems || c.bytes > crowdedSecond*maxBytes {
		return fmt.Errorf("the list has %d events within one second and does not end", len(c.items))
	}
	return nil
}

// walk reads a list without a time filter, from its newest item down to since or, if items have no
// times, down to the start of the previous walk. If the pass's time is used up, walk stores the
// items that it has read, and the next automatic pass continues from there. An operator's pass
// always begins with the newest item. The watermark moves only at the end.
func (p *pass) walk(ctx context.Context, since, until time.Time, deep bool) error {
	mark := newWalkMark(p.row, p.order.By == "" && !p.dry())
	if mark.cursor != "" {
		until = p.row.PassUntil
	}
	if mark.first && p.order.By == "" && p.list.Time == "" && !p.dry() {
		return p.beginMark(ctx)
	}
	if deep {
		mark.until = "" // no lower limit: read the complete list
	}
	at := mark.cursor
	var c collection
	for {
		pg, err := p.page(ctx, p.after(query{}, at))
		if aged(err) && at != "" && at == mark.cursor {
			at, mark.cursor = "", "" // restart the interrupted walk from the newest item
			continue
		}
		if errors.Is(err, errBudget) && at != mark.cursor {
			return cmp.Or(p.handle(ctx, c.items, p.place(until, at, mark)), err)
		}
		if err != nil {
			return err
		}
		if err := inOrder(pg.items, p.source.Settings.Overlap); err != nil {
			return err
		}
		mark.see(pg.items)
		full := c.add(pg, since, until)
		switch {
		case full != nil && !errors.Is(full, errTooMany):
			return full
		case pg.next == "" || mark.reached(pg.items, since, p.list.Time != "" || p.order.By != ""):
			return p.handle(ctx, c.items, coverage.Move{CoveredUntil: until, Mark: mark.newest})
		case full != nil:
			if err := p.handle(ctx, c.items, p.place(until, pg.next, mark)); err != nil {
				return err
			}
			c.items, c.bytes = nil, 0
		}
		at = pg.next
	}
}

// beginMark runs the first pass over a list without times. It stores no event: everything
// listed is older than this pass.
func (p *pass) beginMark(ctx context.Context) error {
	pg, err := p.page(ctx, query{})
	if err != nil {
		return err
	}
	mark := walkMark{}
	mark.see(pg.items)
	move := p.move
	move.Mark = cmp.Or(mark.newest, "0")
	return p.accept(ctx, nil, move)
}

// place returns the position of a walk that has read all pages before cursor.
func (p *pass) place(until time.Time, cursor string, mark walkMark) coverage.Move {
	return coverage.Move{PassUntil: until, PageToken: mark.token(cursor), Mark: p.move.Mark}
}

// inOrder returns an error if a list is not in its declared order, because walk would stop reading
// it too early.
func inOrder(items []Item, tolerance time.Duration) error {
	for i := 1; i < len(items); i++ {
		if items[i].At.Sub(items[i-1].At) > tolerance {
			return fmt.Errorf("the list is out of order: an item of %s follows an item of %s", items[i].At.Format(time.RFC3339), items[i-1].At.Format(time.RFC3339))
		}
	}
	return nil
}

// aged reports whether err may be the refusal of a cursor that the provider has forgotten since
// an earlier pass.
func aged(err error) bool {
	refusal, is := errors.AsType[*statusError](err)
	return is && slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity}, refusal.status)
}

// follow reads a feed, starting at its cursor. The cursor is committed with the events. A feed may
// show old events late: it is ordered by its cursor, not by time. No later pass reads the items
// before the cursor, so follow stores all events of a page. The exceptions are events that are
// older than the list's first pass, and events outside the period that an operator requested.
func (p *pass) follow(ctx context.Context, since time.Time) error {
	cursor, oldest := p.row.Mark, p.row.CreatedAt
	if p.order.By != "" && !p.order.Since.IsZero() {
		cursor, oldest = "", p.order.Since
	}
	places := map[string]bool{}
	for {
		if places[cursor] {
			return errors.New("the list repeats itself: a page links to one that was already read")
		}
		places[cursor] = true
		pg, err := p.page(ctx, p.after(query{since: since}, cursor))
		if aged(err) && cursor != "" && cursor == p.row.Mark {
			// The watermark does not tell where to continue: after the lost cursor, the feed may
			// show events from before the watermark. So follow reads the feed again from the
			// beginning of the window. Dedup drops the events that are read twice.
			cursor, since = "", latest(oldest, p.row.Now.Add(-p.source.Settings.Window))
			continue
		}
		if err != nil {
			return err
		}
		listed := len(pg.items)
		behind := coverage.Move{CoveredUntil: p.run.Until, Mark: cmp.Or(pg.next, cursor)}
		if listed > 0 && pg.items[listed-1].At.Before(p.run.Until) {
			behind.CoveredUntil = pg.items[listed-1].At
		}
		items := slices.DeleteFunc(pg.items, func(i Item) bool {
			return !i.At.IsZero() && (i.At.Before(oldest) || !p.order.Until.IsZero() && !i.At.Before(p.order.Until))
		})
		if err := p.handle(ctx, items, behind); err != nil {
			return err
		}
		if listed == 0 || pg.next == "" {
			return nil
		}
		cursor = pg.next
	}
}
