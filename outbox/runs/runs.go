// Package runs carries out bulk runs, for workers and the program. A bulk run applies an operator
// action to many events, effects or refused deliveries. Runs are stored in Postgres, and any worker
// continues them in the background. An operator can watch, slow, pause and stop them.
//
// A run changes a batch and moves its position in one transaction. If a process is killed, the next
// process therefore continues exactly where the run stopped, and the counts are correct. The worker
// of a run holds a lease; a batch of a worker that has lost its lease changes nothing. Operator
// actions on a run are recorded in the transaction that performs them. The records of replays,
// erasures and changes to effects name the run (I11).
package runs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure Runs. All but Schema are required.
type Options struct {
	DB         *commit.DB    // commits the changes of runs
	ReadPool   *pgxpool.Pool // reads runs and selections, from the same database
	Schema     schema.Name   // holds the tables. Defaults to schema.Default.
	Jobs       *riverjob.Inserter
	Inbox      *inbox.Inbox
	Ledger     *ledger.Ledger
	Erasure    *erasure.Eraser
	Finder     *find.Finder // compiles the conditions of selections
	Quarantine *quarantine.Quarantine
}

// Runs starts bulk runs, carries them out, and reports their progress. It is safe for
// concurrent use.
type Runs struct {
	opts   Options
	db     *commit.DB
	read   *pgxpool.Pool
	sql    statements
	verify quarantine.Verify // nil: this process cannot verify
}

// New returns Runs on a migrated database. It starts nothing.
func New(opts Options) (*Runs, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Jobs == nil || opts.Inbox == nil || opts.Ledger == nil || opts.Erasure == nil || opts.Finder == nil || opts.Quarantine == nil {
		return nil, errors.New("runs options: DB, ReadPool, Jobs, Inbox, Ledger, Erasure, Finder and Quarantine are required")
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	return &Runs{opts: opts, db: opts.DB, read: opts.ReadPool, sql: sql}, nil
}

// With returns a copy of r that selects targets with another Finder.
func (r *Runs) With(finder *find.Finder) *Runs {
	other := *r
	other.opts.Finder = finder
	return &other
}

// Verifying returns a copy of r that can verify refused deliveries again. Without it, a process
// leaves the runs that retry refused deliveries to other processes.
func (r *Runs) Verifying(verify quarantine.Verify) *Runs {
	other := *r
	other.verify = verify
	return &other
}

// does reports whether this process can perform an action.
func (r *Runs) does(action ledger.Action) bool {
	return verbOf(action).do != nil && (action != quarantine.ActionRetry || r.verify != nil)
}

// doable returns the actions that this process can perform.
func (r *Runs) doable() []ledger.Action {
	return slices.DeleteFunc(Actions(), func(a ledger.Action) bool { return !r.does(a) })
}
