// Package inbox stores accepted events for handlers, workers and the program, and
// applies operator actions to them: replay, release, drop.
//
// A replay dispatches an event again, with the current configuration. It happens only when an
// operator requests it, and is recorded with the dispatch that it replaces (I11). An event held by
// a replay guard waits until an operator releases or drops it. Each action is one transaction that
// includes its row in operator_log, so it can be repeated safely after a lost COMMIT response.
package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/ondemand"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// The errors that callers branch on.
var (
	// ErrNotHeld is returned if the event is not held, or its content is no longer stored. Release
	// also accepts a dropped event.
	ErrNotHeld = errors.New("the event is not held")
	// ErrNotReplayable is returned if the event is waiting to be dispatched, held, dropped or
	// imported, or if its content is no longer stored. A failed event cannot be replayed for a
	// single route.
	ErrNotReplayable = errors.New("nothing to replay")
)

// Options configure an Inbox. All but Schema and Export are required.
type Options struct {
	DB       *commit.DB    // commits operator actions
	ReadPool *pgxpool.Pool // serves lists and counts shown to operators, from the same database
	Schema   schema.Name   // holds the tables. Defaults to schema.Default.
	Jobs     *riverjob.Inserter
	Ledger   *ledger.Ledger  // records operator actions, and reopens effects
	Export   *export.Archive // contains events and deliveries that retention deleted; nil: no export
}

// Inbox stores the accepted events. It is safe for concurrent use.
type Inbox struct {
	db       *commit.DB
	readPool *pgxpool.Pool
	sql      statements
	jobs     *riverjob.Inserter
	ledger   *ledger.Ledger
	export   *export.Archive // may be nil
	events   *ondemand.Reader[identity.EventRef, storedEvent]
}

// New returns an Inbox on a migrated database. It starts nothing.
func New(opts Options) (*Inbox, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Jobs == nil || opts.Ledger == nil {
		return nil, errors.New("inbox options: DB, ReadPool, Jobs and Ledger are required")
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	i := &Inbox{db: opts.DB, readPool: opts.ReadPool, sql: sql, jobs: opts.Jobs, ledger: opts.Ledger, export: opts.Export}
	i.events = ondemand.NewReader(i.storedEvents)
	return i, nil
}

// Newest returns the position of the newest event, even if retention has deleted the event. It
// returns 0 if no event was ever accepted.
func (i *Inbox) Newest(ctx context.Context) (last int64, err error) {
	if err := i.sql.NewestEvent.QueryRow(ctx, pipeline.ByIndex{Sender: i.readPool}).Scan(&last); err != nil {
		return 0, fmt.Errorf("find the newest event: %w", err)
	}
	return last, nil
}
