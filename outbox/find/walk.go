package find

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	defaultLimit = 50
	maxLimit     = 1_000 // maximum limit of a list
)

// candidate is a row that matches the filter, ignoring Content.
type candidate[Ref comparable] struct {
	ref        Ref
	place      place
	event      identity.EventRef // event whose body Match reads; empty: none
	deliveryID uuid.UUID         // delivery that contains the body, if known

	inDoubt, unrendered bool  // only for effects
	unclear             error // why Match could not be decided; set only if judge.tells
}

// slice is the result of one call of a walk's function read.
type slice[Ref comparable] struct {
	candidates []candidate[Ref] // in the order of the walk
	looked     int
	end        place // position of the last row that was read
}

// walk reads rows of one kind in order.
type walk[Ref comparable, Row any] struct {
	// read reads the next look rows after a position, and returns at most limit matching rows.
	read func(ctx context.Context, behind place, look, limit int) (slice[Ref], error)
	// load returns the rows of candidates. It omits rows that have been deleted or no longer match.
	load   func(ctx context.Context, found []candidate[Ref]) (map[Ref]Row, error)
	cursor func(place) Cursor
	all    bool   // no filter: reading the rows of the page is enough
	judge  *judge // nil: all candidates match
	budget budget
}

// page walks from a position until it has found limit rows, no rows are left, or the budget is
// spent.
func (w walk[Ref, Row]) page(ctx context.Context, from place, limit int) (Page[Row], error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	var page Page[Row]
	var found []candidate[Ref]
	pace, at, ended := w.budget.begin(), from, false
	if w.all {
		pace.now = limit + 1
	}
	for more := true; more && !ended && len(found) <= limit; {
		end, err := w.turn(ctx)
		if err != nil {
			return page, err
		}
		began := time.Now()
		look, wanted := pace.now, limit+1-len(found)
		if w.judge != nil {
			wanted = look // the number of matches among the rows is unknown
		}
		s, err := w.read(ctx, at, look, wanted)
		taken, through := s.candidates, len(s.candidates)
		if w.judge != nil && err == nil {
			spent := func() bool { return pace.spent(time.Since(began)) }
			taken, through, err = judged(ctx, w.judge, s.candidates, limit+1-len(found), spent)
		}
		took := time.Since(began)
		end()
		if err != nil {
			return page, err
		}
		found = append(found, taken...)
		page.Looked += s.looked
		switch {
		case through < len(s.candidates):
			at, more = s.candidates[through-1].place, false
		case s.looked < look:
			ended = true
			fallthrough
		default:
			if s.looked > 0 {
				at = s.end
			}
			more = pace.next(s.looked, took)
		}
	}
	page.More = !ended
	if len(found) > limit {
		found, page.More = found[:limit], true
		at = found[limit-1].place
	}
	if page.Looked > 0 {
		page.Back = at.at
	}
	page.Next = w.cursor(at)
	page.judgedBy(w.judge)
	err := w.fill(ctx, &page, found)
	return page, err
}

// turn waits for the walk's turn if the walk reads bodies, and returns a function that ends the
// turn.
func (w walk[Ref, Row]) turn(ctx context.Context) (end func(), err error) {
	if w.judge == nil {
		return func() {}, nil
	}
	return w.judge.turns.take(ctx)
}

func refsOf[Ref comparable](candidates []candidate[Ref]) []Ref {
	refs := make([]Ref, len(candidates))
	for i, c := range candidates {
		refs[i] = c.ref
	}
	return refs
}

// fill loads the rows of candidates into page.
func (w walk[Ref, Row]) fill(ctx context.Context, page *Page[Row], found []candidate[Ref]) error {
	if len(found) == 0 {
		return nil
	}
	rows, err := w.load(ctx, found)
	if err != nil {
		return err
	}
	for _, c := range found {
		if row, there := rows[c.ref]; there {
			page.Rows = append(page.Rows, row)
			page.Cursors = append(page.Cursors, w.cursor(c.place))
		}
	}
	return nil
}
