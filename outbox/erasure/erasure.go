// Package erasure erases senders' data and receivers' responses when an operator requests an
// erasure, and redacts the events of sources with redaction.
//
// The event's id, the keys of its effects, its outcome and its times stay. A redelivery is
// therefore still a duplicate, and no part of the event is dispatched or attempted again.
//
// Each event is erased in one transaction, which also inserts the row of operator_log that names the
// operator. The event's River jobs are deleted afterwards, in slices. An erasure that is interrupted
// in between can be repeated without harm. The transaction also notes the erasure for the export,
// whose files are rewritten afterwards: see package export. A bulk run (package runs) erases a
// selection of events.
package erasure

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/export"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// Operator actions of this package.
const (
	ActionEraseEvent  ledger.Action = "event.erase"
	ActionEraseEffect ledger.Action = "effect.erase"
)

// Options configure an Eraser. All but Schema, Export and Logger are required.
type Options struct {
	DB       *commit.DB    // commits erasures
	ReadPool *pgxpool.Pool // for reads outside transactions, on the same database
	Schema   schema.Name   // holds the tables. Defaults to schema.Default.
	Ledger   *ledger.Ledger
	Export   *export.Archive // contains events of days that retention dropped; nil: none
	Logger   *slog.Logger    // defaults to a logger that discards everything
}

// Eraser erases and redacts. It is safe for concurrent use.
type Eraser struct {
	db     *commit.DB
	read   *pgxpool.Pool
	sql    statements
	ledger *ledger.Ledger
	export *export.Archive // may be nil
	logger *slog.Logger
	walks  walks
}

// New returns an Eraser on a migrated database. It starts nothing.
func New(opts Options) (*Eraser, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Ledger == nil {
		return nil, errors.New("erasure options: DB, ReadPool and Ledger are required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("erasure: %w", err)
	}
	return &Eraser{db: opts.DB, read: opts.ReadPool, sql: sql, ledger: opts.Ledger, export: opts.Export, logger: opts.Logger}, nil
}
