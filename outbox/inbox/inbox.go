// Package inbox stores accepted events for handlers, workers and the program, and
// applies operator actions to them: replay, release, drop.
//
// A replay dispatches an event once more, by the configuration of the day. It never
// happens by itself, and is recorded with what it replaces (I11). An event that a
// replay guard holds waits until a person releases or drops it. Each order is one
// transaction together with its row in operator_log, so that it is repeated safely
// after a lost COMMIT answer.
package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/ondemand"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// Errors callers branch on.
var (
	// ErrNotHeld: no replay guard keeps the event back.
	ErrNotHeld = errors.New("the event is not held")
	// ErrNotReplayable: the event waits for its dispatch already, or for a person
	// to release it, or its delivery is no longer kept.
	ErrNotReplayable = errors.New("nothing to replay")
)

// Options configure an Inbox. All but Schema are required.
type Options struct {
	DB       *commit.DB    // where what people order is committed
	ReadPool *pgxpool.Pool // what lists and counts for people use, on the same database
	Schema   schema.Name   // holds the tables. Defaults to schema.Default.
	Jobs     *riverjob.Inserter
	Ledger   *ledger.Ledger // records what people order, and opens effects again
}

// Inbox knows the events that were accepted. It is safe for concurrent use.
type Inbox struct {
	db       *commit.DB
	readPool *pgxpool.Pool
	sql      statements
	jobs     *riverjob.Inserter
	ledger   *ledger.Ledger
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
	i := &Inbox{db: opts.DB, readPool: opts.ReadPool, sql: sql, jobs: opts.Jobs, ledger: opts.Ledger}
	i.events = ondemand.NewReader(i.storedEvents)
	return i, nil
}

// Newest is the place of the event that was accepted last, 0 when there is none.
func (i *Inbox) Newest(ctx context.Context) (last int64, err error) {
	if err := i.sql.NewestEvent.QueryRow(ctx, pipeline.ByIndex{Sender: i.readPool}).Scan(&last); err != nil {
		return 0, fmt.Errorf("find the newest event: %w", err)
	}
	return last, nil
}
