package backfill

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/coverage"
)

// walkMark is where a walk down a list is, and where it ends. Numbers are compared as digit
// strings, because those of some providers fit into no integer type.
type walkMark struct {
	first  bool
	cursor string // of the page where an interrupted walk continues
	until  string // largest number of the previous walk; empty: unknown
	newest string // largest number of this walk
}

func newWalkMark(row *coverage.Pass) walkMark {
	m := walkMark{first: row.Mark == "", until: row.Mark, newest: row.Mark}
	if !row.PassUntil.IsZero() {
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

// reached reports whether a page contains nothing that the pass looks for. Later pages
// would contain nothing either.
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

// larger compares whole numbers.
func larger(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0
}
