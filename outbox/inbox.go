package outbox

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/schema"
)

// Errors callers branch on.
var (
	// ErrNotHeld: no replay guard keeps the event back.
	ErrNotHeld = errors.New("the event is not held")
	// ErrNotReplayable: the event waits for its dispatch already, or for a person
	// to release it.
	ErrNotReplayable = errors.New("nothing to replay")
)

// InboxOptions configure an Inbox. All but Schema are required.
type InboxOptions struct {
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
	sql      inboxStatements
	jobs     *riverjob.Inserter
	ledger   *ledger.Ledger
}

// NewInbox returns an Inbox on a migrated database. It starts nothing.
func NewInbox(opts InboxOptions) (*Inbox, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Jobs == nil || opts.Ledger == nil {
		return nil, errors.New("inbox options: DB, ReadPool, Jobs and Ledger are required")
	}
	sql, err := loadInboxStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	return &Inbox{db: opts.DB, readPool: opts.ReadPool, sql: sql, jobs: opts.Jobs, ledger: opts.Ledger}, nil
}
