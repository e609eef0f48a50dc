package contender

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/gateway/provider"
)

//go:embed tables.sql
var tablesSQL string

//go:embed drop_gin_indexes.sql
var dropSQL string

//go:embed insert_event.sql
var insertSQL string

// Prepare creates the tables in an empty database: River's tables through its migrations, and the
// event table. If withoutGIN is true, Prepare then drops River's two GIN indexes, which cost more
// than the rest of a job.
func Prepare(ctx context.Context, pool *pgxpool.Pool, withoutGIN bool) error {
	// River logs each migration, which a bench does not need.
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("prepare River: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	if _, err := pool.Exec(ctx, tablesSQL); err != nil {
		return fmt.Errorf("create the event table: %w", err)
	}
	if withoutGIN {
		if _, err := pool.Exec(ctx, dropSQL); err != nil {
			return fmt.Errorf("drop the GIN indexes: %w", err)
		}
	}
	return nil
}

// store implements the naive pattern: one transaction for each event.
type store struct {
	pool *pgxpool.Pool
	jobs *river.Client[pgx.Tx]
}

func newStore(pool *pgxpool.Pool) (*store, error) {
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)}) // the client only inserts jobs
	if err != nil {
		return nil, fmt.Errorf("River client: %w", err)
	}
	return &store{pool: pool, jobs: jobs}, nil
}

// process contains the arguments of an event's job.
type process struct {
	Source  string `json:"source"`
	EventID string `json:"event_id"`
}

// Kind implements river.JobArgs.
func (process) Kind() string { return "process_event" }

// accept stores an event with its job and returns the status accepted. For an event that is
// already stored, it returns duplicate and stores nothing.
func (s *store) accept(ctx context.Context, event provider.Event, body []byte) (status string, err error) {
	status = "accepted"
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		inserted, err := tx.Exec(ctx, insertSQL, load.Source, event.ID, event.Type, body)
		if err != nil {
			return fmt.Errorf("insert the event: %w", err)
		}
		if inserted.RowsAffected() == 0 {
			status = "duplicate"
			return nil
		}
		if _, err := s.jobs.InsertTx(ctx, tx, process{Source: load.Source, EventID: event.ID}, nil); err != nil {
			return fmt.Errorf("insert the job: %w", err)
		}
		return nil
	})
	return status, err
}
