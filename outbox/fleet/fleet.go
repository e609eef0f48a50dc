package fleet

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure a Fleet.
type Options struct {
	// DB commits changes. Required.
	DB *commit.DB
	// ReadPool serves the lists and counts shown to operators, from the same database.
	// Required.
	ReadPool *pgxpool.Pool
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// Jobs pauses the queues of destinations. Required.
	Jobs *riverjob.Inserter
	// Ledger records operator actions. Required.
	Ledger *ledger.Ledger
	// Runs parks the effects that wait for a retired destination. Required.
	Runs *runs.Runs
}

// Fleet manages the destinations of all processes together. It is safe for concurrent use.
type Fleet struct {
	db     *commit.DB
	read   *pgxpool.Pool
	sql    statements
	jobs   *riverjob.Inserter
	ledger *ledger.Ledger
	runs   *runs.Runs

	controlTopic string // topic of River's notifications
}

// New returns a Fleet on a migrated database. It starts nothing.
func New(opts Options) (*Fleet, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Jobs == nil || opts.Ledger == nil || opts.Runs == nil {
		return nil, errors.New("fleet options: DB, ReadPool, Jobs, Ledger and Runs are required")
	}
	name := opts.Schema.OrDefault()
	sql, err := loadStatements(name)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return &Fleet{
		db: opts.DB, read: opts.ReadPool, sql: sql, jobs: opts.Jobs, ledger: opts.Ledger, runs: opts.Runs,
		controlTopic: riverjob.ControlTopic(name),
	}, nil
}
