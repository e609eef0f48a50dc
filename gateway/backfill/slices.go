package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hooklatch/hooklatch/internal/coverage"
)

const (
	// firstSlice is the length of a pass's first slice, unless the pass continues an interrupted
	// pass. shortestSlice is the shortest length of a slice.
	firstSlice, shortestSlice = time.Hour, time.Second
	// fewItems is the number of items below which the next slice becomes twice as long.
	fewItems = maxItems / 4
)

// sliceMark is the position at which an interrupted pass over slices continues.
type sliceMark struct {
	Since  time.Time
	Length time.Duration // length of the next slice
	Deep   bool          // true if the pass reads the complete window
}

func (m sliceMark) token() string {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // times and numbers can always be encoded
	}
	return string(text)
}

// sliceMarkOf returns an interrupted pass's mark. It returns false if there is no valid mark whose
// Deep equals deep.
func sliceMarkOf(row *coverage.Pass, deep bool) (m sliceMark, found bool) {
	if row.PassUntil.IsZero() || json.Unmarshal([]byte(row.PageToken), &m) != nil {
		return m, false
	}
	return m, m.Deep == deep && m.Length >= shortestSlice
}

// slices reads a list that has a time filter, one slice after another, oldest first. Each slice is
// read completely before any of it is stored, so that events are accepted in the order in which
// they happened. A pass whose budget is used up records its position, and the next pass continues
// there.
func (p *pass) slices(ctx context.Context, since, until time.Time, deep bool) error {
	length := firstSlice
	if mark, found := sliceMarkOf(p.row, deep); found && p.order.By == "" && !p.dry() {
		since, until, length = latest(since, mark.Since), p.row.PassUntil, mark.Length
	}
	since, until = since.Truncate(time.Second), until.Truncate(time.Second)
	for since.Before(until) {
		end := since.Add(length)
		if end.After(until) {
			end = until
		}
		half := max(end.Sub(since)/2, shortestSlice).Truncate(time.Second)
		items, err := p.slice(ctx, since, end)
		if errors.Is(err, errTooMany) && end.Sub(since) > shortestSlice {
			length = half
			continue
		}
		if err == nil {
			behind := p.move
			behind.CoveredUntil, behind.PassUntil, behind.PageToken = end, time.Time{}, ""
			if end.Before(until) {
				behind.PassUntil, behind.PageToken = until, sliceMark{Since: end, Length: length, Deep: deep}.token()
			}
			err = p.handle(ctx, items, behind)
		}
		if err == nil && p.compares(deep) {
			err = p.compareHeld(ctx, items, since, end)
		}
		if err != nil && (errors.Is(err, errBudget) || ctx.Err() != nil) {
			if failed := p.interrupt(context.WithoutCancel(ctx), until, sliceMark{Since: since, Length: half, Deep: deep}); failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
		if since = end; len(items) < fewItems {
			length *= 2
		}
	}
	return nil
}

// interrupt records that a slice did not fit into the budget. The next pass begins with half
// of the slice. An operator's pass records nothing.
func (p *pass) interrupt(ctx context.Context, until time.Time, mark sliceMark) error {
	if p.order.By != "" {
		return nil
	}
	move := p.move
	move.PassUntil, move.PageToken = until, mark.token()
	return p.accept(ctx, nil, move)
}

func (p *pass) slice(ctx context.Context, since, until time.Time) ([]Item, error) {
	var c collection
	for q := (query{since: since, until: until}); ; {
		pg, err := p.page(ctx, q)
		if err != nil {
			return nil, err
		}
		err = c.add(pg, since, until)
		if errors.Is(err, errTooMany) && until.Sub(since) <= shortestSlice {
			err = c.crowded()
		}
		if err != nil {
			return nil, err
		}
		if pg.next == "" {
			return c.items, nil
		}
		q = p.after(q, pg.next)
	}
}
