// Package find selects, for bulk runs and the program, events, effects and operator
// actions among millions: it walks them from the newest back or from the oldest onward,
// reads a bounded number at a time, and says how far it looked. The struct of each is
// the one list of what can be asked for: the command line, the console, the API and runs
// read and write the same fields (see Fields).
//
// What is asked for may be rare, or not there at all, and no index serves every
// question. So an answer is not all that was asked for, but what was found within a
// budget: rows, how far back it looked, and a cursor to go on from. Nothing is counted,
// and a page far back costs what the first does.
//
//	for cursor, more := find.Beginning, true; more; {
//		page, err := box.Finder().Events(ctx, find.Events{Type: "invoice.paid"}, cursor, 50)
//		// ... page.Rows, none perhaps; page.Looked and page.Back say how far it looked ...
//		cursor, more = page.Next, page.More
//	}
package find

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure a Finder. All but Schema are required.
type Options struct {
	Pool   *pgxpool.Pool // only reads
	Schema schema.Name   // holds the tables. Defaults to schema.Default.
	Inbox  *inbox.Inbox
	Ledger *ledger.Ledger
}

// Finder finds events, effects and actions. It is safe for concurrent use.
type Finder struct {
	look      pipeline.ByIndex // for statements that look rows up
	walk      pipeline.ByIndex // for those that read them in the order of an index
	sql       statements
	inbox     *inbox.Inbox
	ledger    *ledger.Ledger
	condition Condition // nil: conditions are refused
	plain     budget
	matched   budget
	turns     *turns // nil: searches in payloads wait for nothing
}

// New returns a Finder on a migrated database. It starts nothing, and refuses conditions
// (see With).
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
		sql:  sql, inbox: opts.Inbox, ledger: opts.Ledger,
		plain: plainBudget, matched: matchBudget,
	}, nil
}

// With returns a Finder that compiles conditions.
func (f *Finder) With(condition Condition) *Finder {
	other := *f
	other.condition = once(condition)
	return &other
}

// Brief returns a Finder for pages that somebody looks at: a list that reads no bodies
// answers within 25 ms or so of the server, and says how far it looked. Of its searches
// in payloads one works at a time, and rests twice as long as it worked. Condition is
// called for every answer.
func (f *Finder) Brief(condition Condition) *Finder {
	brief := *f
	brief.condition, brief.plain, brief.turns = condition, briefBudget, newTurns()
	return &brief
}
