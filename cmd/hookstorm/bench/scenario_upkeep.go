package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query/ended_job.sql
var endedJobSQL string

// upkeepPause is the pause between two runs of upkeep, which are a minute apart in
// production.
const upkeepPause = 500 * time.Millisecond

// upkeepTurn measures full lifecycles with constant upkeep, and without upkeep.
func upkeepTurn(ctx context.Context, b *bench) error {
	return b.alternately(func(upkeep bool) error {
		return b.playLife(ctx, living, database{}, func(s *scene, client *load.Client) error {
			if upkeep {
				return s.liveBesideUpkeep(ctx, client)
			}
			return s.live(ctx, client, b.sizes.data, report.SectionUpkeep, report.WithoutUpkeep)
		})
	})
}

func (s *scene) liveBesideUpkeep(ctx context.Context, client *load.Client) error {
	jobs, end, err := s.jobs(ctx)
	if err != nil {
		return err
	}
	defer end()
	inserting, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- orderUpkeep(inserting, jobs) }()
	err = s.live(ctx, client, s.bench.sizes.data, report.SectionUpkeep, report.WithUpkeep)
	stop()
	return errors.Join(err, <-ended)
}

// jobs returns a client that inserts jobs into the scene's queues, until the function end is
// called.
func (s *scene) jobs(ctx context.Context) (_ *river.Client[pgx.Tx], end func(), err error) {
	pool, err := pgxpool.New(ctx, s.database.server.cluster.Primary(s.database.name))
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler), Schema: string(schema.Default)})
	if err != nil {
		pool.Close()
		return nil, nil, fmt.Errorf("River client: %w", err)
	}
	return jobs, pool.Close, nil
}

// reconcile inserts a reconcile job, waits until a worker has run it, and returns its duration.
func (s *scene) reconcile(ctx context.Context) (time.Duration, error) {
	jobs, end, err := s.jobs(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	inserted, err := jobs.Insert(ctx, reconcile{}, &river.InsertOpts{Queue: riverjob.QueueUpkeep, MaxAttempts: 1})
	if err != nil {
		return 0, fmt.Errorf("request reconcile: %w", err)
	}
	for {
		var state string
		var seconds float64
		err := s.watch.QueryRow(ctx, endedJobSQL, inserted.Job.ID).Scan(&state, &seconds)
		switch {
		case err == nil && state == string(rivertype.JobStateCompleted):
			return time.Duration(seconds * float64(time.Second)), nil
		case err == nil:
			return 0, fmt.Errorf("reconcile is %s after %.1f s", state, seconds)
		case !errors.Is(err, pgx.ErrNoRows):
			return 0, fmt.Errorf("query reconcile: %w", err)
		}
		if err := retry.Wait(ctx, pollPause); err != nil {
			return 0, fmt.Errorf("wait for reconcile: %w", err)
		}
	}
}

// reconcile is the upkeep job that checks all unfinished work.
type reconcile struct{}

// Kind implements river.JobArgs.
func (reconcile) Kind() string { return "upkeep.reconcile" }

// orderUpkeep inserts a reconcile job every upkeepPause until ctx is done.
func orderUpkeep(ctx context.Context, jobs *river.Client[pgx.Tx]) error {
	for retry.Wait(ctx, upkeepPause) == nil {
		if _, err := jobs.Insert(ctx, reconcile{}, &river.InsertOpts{Queue: riverjob.QueueUpkeep, MaxAttempts: 1}); err != nil && ctx.Err() == nil {
			return fmt.Errorf("request upkeep: %w", err)
		}
	}
	return nil
}
