// Package erasure erases what senders wrote and receivers answered: on request of an
// operator, and where a source has redaction.
//
// What makes an event known again stays: its id, the keys of its effects, its outcome
// and its times. A redelivery is a duplicate, and nothing of it is dispatched or
// attempted again.
//
// Each event is one transaction, together with the row of operator_log that says who
// ordered it. What stands in River's jobs about it goes afterwards, in slices: an order
// that is interrupted in between is repeated, which does no harm.
package erasure

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// The actions that a person orders here.
const (
	ActionEraseEvent  ledger.Action = "event.erase"
	ActionEraseEffect ledger.Action = "effect.erase"
)

// Options configure an Eraser. All but Schema and Logger are required.
type Options struct {
	DB       *commit.DB    // where erasures are committed
	ReadPool *pgxpool.Pool // what selections read, on the same database
	Schema   schema.Name   // holds the tables. Defaults to schema.Default.
	Inbox    *inbox.Inbox
	Ledger   *ledger.Ledger
	Finder   *find.Finder // finds what a selection asks for
	Logger   *slog.Logger // defaults to one that discards
}

// Eraser erases and redacts. It is safe for concurrent use.
type Eraser struct {
	db     *commit.DB
	read   *pgxpool.Pool
	sql    statements
	inbox  *inbox.Inbox
	ledger *ledger.Ledger
	finder *find.Finder
	logger *slog.Logger
}

// New returns an Eraser on a migrated database. It starts nothing.
func New(opts Options) (*Eraser, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Inbox == nil || opts.Ledger == nil || opts.Finder == nil {
		return nil, errors.New("erasure options: DB, ReadPool, Inbox, Ledger and Finder are required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("erasure: %w", err)
	}
	return &Eraser{db: opts.DB, read: opts.ReadPool, sql: sql, inbox: opts.Inbox, ledger: opts.Ledger, finder: opts.Finder, logger: opts.Logger}, nil
}

// With returns an Eraser whose selections are compiled by another Finder.
func (e *Eraser) With(finder *find.Finder) *Eraser {
	other := *e
	other.finder = finder
	return &other
}
