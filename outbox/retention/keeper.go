package retention

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure a Keeper.
type Options struct {
	// DB is where what goes is committed. Required.
	DB *commit.DB
	// Pool is of the same database: a day is detached outside of any transaction, and
	// lists read from it. Required.
	Pool *pgxpool.Pool
	// Ledger records that a person let a run go on. Required.
	Ledger *ledger.Ledger
	// Schema holds the tables. Defaults to schema.Default.
	Schema schema.Name
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Keeper deletes what is past its time. It is safe for concurrent use; of several
// that run at once one works at a time.
type Keeper struct {
	db     *commit.DB
	pool   *pgxpool.Pool
	ledger *ledger.Ledger
	schema schema.Name
	sql    statements
	logger *slog.Logger
	look   int // rows of a slice
}

// defaultLook is a slice that takes some ten milliseconds.
const defaultLook = 1_000

// New returns a Keeper on a migrated database. It starts nothing.
func New(opts Options) (*Keeper, error) {
	if opts.DB == nil || opts.Pool == nil || opts.Ledger == nil {
		return nil, errors.New("retention options: DB, Pool and Ledger are required")
	}
	name := opts.Schema.OrDefault()
	sql, err := loadStatements(name)
	if err != nil {
		return nil, fmt.Errorf("retention: %w", err)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Keeper{db: opts.DB, pool: opts.Pool, ledger: opts.Ledger, schema: name, sql: sql, logger: opts.Logger, look: defaultLook}, nil
}
