package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/schema"
)

// The operator actions on the database.
const (
	ActionEnqueue  ledger.Action = "repair.enqueue"  // enqueues work without a job
	ActionRestored ledger.Action = "repair.restored" // the database was restored
	ActionPromoted ledger.Action = "repair.promoted" // a standby was promoted, or the database was moved, and nothing is missing
)

// Options configure a Repairer.
type Options struct {
	// DB commits operator actions. Required.
	DB *commit.DB
	// ReadPool serves counts shown to operators, from the same database. Required.
	ReadPool *pgxpool.Pool
	// Schema holds the tables. Defaults to schema.Default.
	Schema schema.Name
	// Ledger records operator actions. Required.
	Ledger *ledger.Ledger
	// Runs parks effects. Required.
	Runs *runs.Runs
	// Fleet pauses destinations. Required.
	Fleet *fleet.Fleet
	// Lacking counts the work without a job, and Enqueue enqueues it again. Required.
	Lacking, Enqueue func(ctx context.Context) (Jobs, error)
}

// Jobs counts work that lacks a job, or was enqueued again.
type Jobs struct {
	Events  int `json:"events"`
	Effects int `json:"effects"`
}

// Repairer repairs a database. It is safe for concurrent use.
type Repairer struct {
	opts Options
	sql  statements
}

// New returns a Repairer for a migrated database. It starts nothing.
func New(opts Options) (*Repairer, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Ledger == nil || opts.Runs == nil || opts.Fleet == nil || opts.Lacking == nil || opts.Enqueue == nil {
		return nil, errors.New("repair options: DB, ReadPool, Ledger, Runs, Fleet, Lacking and Enqueue are required")
	}
	sql, err := loadStatements(opts.Schema.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	return &Repairer{opts: opts, sql: sql}, nil
}

// Damage counts the work without a job, and related problems.
type Damage struct {
	Lacking Jobs `json:"lacking"` // work without a live job
	// Discarded counts the jobs of events and effects that River gave up and still stores. Lacking
	// includes their work, unless the work has ended or has another job.
	Discarded int64 `json:"discarded_jobs"`
	// ExpiredLeases counts attempts that outlived their leases. The attempt's job, or the effect's
	// next job, handles each attempt according to the effect's policy.
	ExpiredLeases int64 `json:"expired_leases"`
}

// Look counts the work that Enqueue would enqueue again, and related problems. It changes nothing.
func (r *Repairer) Look(ctx context.Context) (Damage, error) {
	var d Damage
	var err error
	if d.Lacking, err = r.opts.Lacking(ctx); err != nil {
		return Damage{}, fmt.Errorf("look for work without a job: %w", err)
	}
	if err := r.sql.CountDamage.QueryRow(ctx, r.opts.ReadPool).Scan(&d.Discarded, &d.ExpiredLeases); err != nil {
		return Damage{}, fmt.Errorf("count jobs that were given up: %w", err)
	}
	return d, nil
}

// Enqueue inserts a job for every event and effect without a job, as upkeep does every minute. It
// then records the operator action. Errors: commit.ErrUnavailable.
func (r *Repairer) Enqueue(ctx context.Context, by ledger.Operator) (Jobs, error) {
	done, err := r.opts.Enqueue(ctx)
	if err != nil {
		return done, fmt.Errorf("enqueue missing jobs: %w", err)
	}
	what := ledger.Instruction{Action: ActionEnqueue, Target: "jobs"}
	err = r.opts.Ledger.Act(ctx, ordered(by, ""), what, func(context.Context, pgx.Tx) (ledger.Consequence, error) {
		return ledger.Consequence{Result: "enqueued again", Affected: int64(done.Events + done.Effects)}, nil
	})
	if err != nil {
		return done, fmt.Errorf("record that jobs were enqueued: %w", err)
	}
	return done, nil
}

// ordered fills in a missing request id and a missing reason, which all actions of one request
// share.
func ordered(by ledger.Operator, reason string) ledger.Operator {
	by.RequestID = cmp.Or(by.RequestID, uuid.NewString())
	by.Reason = cmp.Or(by.Reason, reason)
	return by
}
