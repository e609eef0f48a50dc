// Package find selects events, effects and operator actions for bulk runs and other parts of the
// program. It walks them from the newest back or from the oldest onward, reads a bounded number of
// rows at a time, and reports how far it looked. Each filter is one struct. Command line, console,
// API and runs read and write the same fields (see Fields).
//
// Matches may be rare or missing, and no index serves every filter. A page therefore contains only
// the matches found within a budget. It also contains the time back to which the search looked, and
// a cursor to continue from. Nothing is counted, and a page far back costs as much as the first
// page.
//
//	for cursor, more := find.Beginning, true; more; {
//		page, err := box.Finder().Events(ctx, find.Events{Type: "invoice.paid"}, cursor, 50)
//		// ... page.Rows, possibly none; page.Looked and page.Back report how far it looked ...
//		cursor, more = page.Next, page.More
//	}
package find

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure a Finder. All but Schema and Export are required.
type Options struct {
	Pool   *pgxpool.Pool // used only for reading
	Schema schema.Name   // holds the tables. Defaults to schema.Default.
	Inbox  *inbox.Inbox
	Ledger *ledger.Ledger
	Export *export.Archive // contains events of days that retention dropped; nil: none
}

// Finder finds events, effects and actions. It is safe for concurrent use.
type Finder struct {
	look      pipeline.ByIndex // for statements that look up rows
	walk      pipeline.ByIndex // for statements that read rows in index order
	sql       statements
	inbox     *inbox.Inbox
	ledger    *ledger.Ledger
	export    *export.Archive // may be nil
	condition Condition       // nil: conditions are refused
	plain     budget
	matched   budget
	turns     *turns // nil: searches in payloads do not wait for each other
}

// New returns a Finder on a migrated database. New starts nothing. The Finder refuses conditions:
// see With.
func New(opts Options) (*Finder, error) {
	if opts.Pool == nil || opts.Inbox == nil || opts.Ledger == nil {
		return nil, errors.New("find options: Pool, Inbox and Ledger are required")
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	return &Finder{
		look: pipeline.ByIndex{Sender: opts.Pool},
		walk: pipeline.ByIndex{Sender: opts.Pool, InOrder: true},
		sql:  sql, inbox: opts.Inbox, ledger: opts.Ledger, export: opts.Export,
		plain: plainBudget, matched: matchBudget,
	}, nil
}

// With returns a copy of f that compiles conditions.
func (f *Finder) With(condition Condition) *Finder {
	other := *f
	other.condition = once(condition)
	return &other
}

// Brief returns a copy of f for interactive pages. A list that reads no bodies returns within about
// 25 ms of server time, and reports how far it looked. Only one payload search of the copy works at
// a time, and pauses after each slice of rows for twice as long as the slice took. The function
// condition is called for every page whose filter has a When.
func (f *Finder) Brief(condition Condition) *Finder {
	brief := *f
	brief.condition, brief.plain, brief.turns = condition, briefBudget, newTurns()
	return &brief
}
