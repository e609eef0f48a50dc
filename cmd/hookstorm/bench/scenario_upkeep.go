package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/schema"
)

// upkeepPause is between two runs of upkeep, which are a minute apart in earnest.
const upkeepPause = 500 * time.Millisecond

// upkeepTurn measures whole lives while upkeep runs all the time, beside lives
// without.
func upkeepTurn(ctx context.Context, b *bench) error {
	for round := range b.opts.Rounds {
		turns := []bool{false, true}
		if round%2 == 1 {
			turns = []bool{true, false}
		}
		for _, upkeep := range turns {
			if err := b.liveBesideUpkeep(ctx, upkeep); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) liveBesideUpkeep(ctx context.Context, upkeep bool) (err error) {
	s, client, err := b.enterLife(ctx, living)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	defer client.Close()
	if !upkeep {
		return s.live(ctx, client, b.sizes.data, report.SectionUpkeep, report.WithoutUpkeep)
	}
	pool, err := pgxpool.New(ctx, s.server.cluster.Primary(s.database))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler), Schema: string(schema.Default)})
	if err != nil {
		return fmt.Errorf("River client: %w", err)
	}
	ordering, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- orderUpkeep(ordering, jobs) }()
	err = s.live(ctx, client, b.sizes.data, report.SectionUpkeep, report.WithUpkeep)
	stop()
	return errors.Join(err, <-ended)
}

// reconcile is the upkeep that looks at everything that is not finished.
type reconcile struct{}

// Kind implements river.JobArgs.
func (reconcile) Kind() string { return "upkeep.reconcile" }

// orderUpkeep inserts the job again and again, until ctx is done.
func orderUpkeep(ctx context.Context, jobs *river.Client[pgx.Tx]) error {
	for sleep(ctx, upkeepPause) == nil {
		if _, err := jobs.Insert(ctx, reconcile{}, &river.InsertOpts{Queue: riverjob.QueueUpkeep, MaxAttempts: 1}); err != nil && ctx.Err() == nil {
			return fmt.Errorf("order upkeep: %w", err)
		}
	}
	return nil
}
