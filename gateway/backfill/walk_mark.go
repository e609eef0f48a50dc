package backfill

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/coverage"
)

// walkMark records the current position in a walk down a list and the position at which the walk
// ends. The numbers in the refs of items are compared as digit strings, because some providers'
// numbers fit into no integer type.
type walkMark struct {
	first  bool
	cursor string // cursor of the page where an interrupted walk continues
	until  string // the previous walk's largest number; empty: unknown
	newest string // this walk's largest number
}

// newWalkMark returns the mark of a new walk. If continues is true and a walk was interrupted, it
// returns the mark of that walk.
func newWalkMark(row *coverage.Pass, continues bool) walkMark {
	m := walkMark{first: row.Mark == "", until: row.Mark, newest: row.Mark}
	if continues && !row.PassUntil.IsZero() {
		m.cursor, m.newest, _ = strings.Cut(row.PageToken, "\n")
	}
	return m
}

func (m *walkMark) token(cursor string) string { return cursor + "\n" + m.newest }

func (m *walkMark) see(items []Item) {
	for _, i := range items {
		if larger(i.Ref, m.newest) {
			m.newest = i.Ref
		}
	}
}

// reached reports whether a page contains nothing that the pass looks for. If so, the walk need not
// read later pages.
func (m *walkMark) reached(items []Item, since time.Time, timed bool) bool {
	for _, i := range items {
		switch {
		case timed && !i.At.IsZero():
			if !i.At.Before(since) {
				return false
			}
		case timed || m.until == "" || larger(i.Ref, m.until):
			return false
		}
	}
	return true
}

// larger reports whether the digit string a is a larger number than b.
func larger(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0
}
