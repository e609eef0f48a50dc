package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/repair"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// reconcileGrace is longer than an accept or dispatch takes to make its job visible.
	reconcileGrace = 30 * time.Second
	// reconcileLook limits the jobs that a slice of Reconcile inserts, except in a slice of ordered
	// effects, which covers up to 1,000 orders. It also limits the jobs that each slice reads for
	// each queue, state and priority. For running jobs, that limit is ten times higher.
	reconcileLook = 1000
)

// Reconciled counts the events and effects for which Reconcile enqueued a new job.
type Reconciled struct {
	Events  int
	Effects int
}

// Reconcile finds undispatched events and overdue effects that have no live job. It enqueues new
// jobs (I5) for up to 1,000 events of each source, and for up to 1,000 unordered effects of each
// destination. Ordered effects have no such limit. The tables are authoritative. River prunes its
// jobs, discards stuck jobs of unknown kinds, and lets operators delete jobs.
//
// Reconcile works in slices whose cost does not depend on the number of waiting items. In a long
// queue it checks only items whose turn should have arrived. Effects of a paused destination need
// no job. Several processes may call Reconcile: an advisory lock lets one process at a time run a
// slice, and the others skip the slice.
func (o *Outbox) Reconcile(ctx context.Context) (Reconciled, error) {
	return o.reconcile(ctx, reconcileGrace)
}

func (o *Outbox) reconcile(ctx context.Context, grace time.Duration) (Reconciled, error) {
	return o.lacking(ctx, grace, o.enqueueSlice)
}

// slice is one step of Reconcile. It returns the keys of events or effects without a job, and a
// function that enqueues jobs for them.
type slice = func(ctx context.Context, in statement.DB) (lacking []string, enqueue func(ctx context.Context, tx pgx.Tx) error, err error)

// inSlice runs a slice and decides what to do with its result.
type inSlice = func(ctx context.Context, run slice) error

// lacking counts events and effects without a live job. It passes its slices to run. A slice that the
// server refuses does not hold up the others.
func (o *Outbox) lacking(ctx context.Context, grace time.Duration, run inSlice) (Reconciled, error) {
	var found Reconciled
	var err error
	if found.Events, err = o.reconcileEvents(ctx, grace, run); err == nil || sqlstate.Answered(err) {
		var more error
		found.Effects, more = o.ledger.Reconcile(ctx, grace, reconcileLook, run)
		err = errors.Join(err, more)
	}
	if err != nil {
		return found, fmt.Errorf("reconcile: %w", err)
	}
	return found, nil
}

// enqueueSlice runs a slice and enqueues its result, unless another process is reconciling.
func (o *Outbox) enqueueSlice(ctx context.Context, run slice) error {
	return o.inTurn(ctx, run, nil)
}

// enqueueSliceInTurn is like enqueueSlice, but waits while another process is reconciling, until
// the time limit of commit.DB.Do.
func (o *Outbox) enqueueSliceInTurn(ctx context.Context, run slice) error {
	return o.inTurn(ctx, run, commit.ErrTryAgain)
}

// inTurn runs a slice and enqueues its result. While another process is reconciling, inTurn runs
// nothing and returns the error busy, which may be nil.
func (o *Outbox) inTurn(ctx context.Context, run slice, busy error) error {
	return o.db.Do(ctx, "reconcile", commit.Limits{Recurring: true}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		var locked bool
		if err := o.sql.TryLock.With(tryLock{Name: string(o.schema) + ".reconcile"}).QueryRow(ctx, tx).Scan(&locked); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if !locked {
			return busy
		}
		_, enqueue, err := run(ctx, tx)
		if err != nil {
			return err
		}
		return enqueue(ctx, tx)
	})
}

// lackingJobs counts the jobs that Reconcile would enqueue again. It changes nothing.
func (o *Outbox) lackingJobs(ctx context.Context) (repair.Jobs, error) {
	found, err := o.lacking(ctx, reconcileGrace, func(ctx context.Context, run slice) error {
		return o.db.Statement("reconcile", func(db pipeline.ByIndex) error {
			_, _, err := run(ctx, db)
			return err
		})
	})
	return repair.Jobs(found), err
}

// enqueueLacking repeats the work of Reconcile until nothing is left to enqueue, and returns the
// totals. It also stops after a round whose events and effects had all got jobs in earlier rounds.
// Something removes these jobs, and another round would not change that.
func (o *Outbox) enqueueLacking(ctx context.Context) (repair.Jobs, error) {
	var all repair.Jobs
	enqueued := map[string]bool{}
	for {
		before := len(enqueued)
		done, err := o.lacking(ctx, reconcileGrace, func(ctx context.Context, run slice) error {
			return o.enqueueSliceInTurn(ctx, func(ctx context.Context, in statement.DB) ([]string, func(context.Context, pgx.Tx) error, error) {
				lacking, enqueue, err := run(ctx, in)
				for _, key := range lacking {
					enqueued[key] = true
				}
				return lacking, enqueue, err
			})
		})
		if len(enqueued) > before {
			all.Events, all.Effects = all.Events+done.Events, all.Effects+done.Effects
		}
		if err != nil || len(enqueued) == before {
			return all, err
		}
	}
}

// undispatchedSource is a source with undispatched events.
type undispatchedSource struct {
	Name  identity.Source
	Queue string // queue of the first event's job
}

func (o *Outbox) reconcileEvents(ctx context.Context, grace time.Duration, run inSlice) (int, error) {
	var sources []undispatchedSource
	err := o.db.Statement("undispatched_sources", func(db pipeline.ByIndex) error {
		rows, err := o.sql.UndispatchedSources.Query(ctx, db)
		if err == nil {
			sources, err = pgx.CollectRows(rows, pgx.RowToStructByPos[undispatchedSource])
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("find sources of undispatched events: %w", err)
	}
	healed := 0
	var errs []error
	for _, source := range sources {
		found := 0
		if err := run(ctx, func(ctx context.Context, in statement.DB) ([]string, func(context.Context, pgx.Tx) error, error) {
			jobs, err := o.eventsWithoutJob(ctx, in, source, grace)
			found = len(jobs)
			keys := make([]string, 0, found)
			for _, j := range jobs {
				keys = append(keys, j.Event.String())
			}
			return keys, func(ctx context.Context, tx pgx.Tx) error { return o.jobs.InsertDispatches(ctx, tx, jobs) }, err
		}); err != nil {
			errs = append(errs, fmt.Errorf("events of %s without a job: %w", source.Name, err))
			if ctx.Err() != nil || !sqlstate.Answered(err) {
				break
			}
			continue
		}
		healed += found
	}
	return healed, errors.Join(errs...)
}

func (o *Outbox) eventsWithoutJob(ctx context.Context, in statement.DB, source undispatchedSource, grace time.Duration) ([]riverjob.DispatchJob, error) {
	// A source may have gained or lost handlers since its events were accepted.
	queues := []string{source.Queue, riverjob.QueueDispatch, riverjob.QueueHandlers, riverjob.HandlersQueue(source.Name)}
	slices.Sort(queues)
	lacking := eventsWithoutJob{Source: source.Name, Queues: slices.Compact(queues), GraceSeconds: grace.Seconds(), Look: reconcileLook}
	rows, err := o.sql.EventsWithoutJob.With(lacking).Query(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("find events without a job: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (riverjob.DispatchJob, error) {
		var j riverjob.DispatchJob
		err := row.Scan(&j.Event.Source, &j.Event.EventID, &j.EventType, &j.Origin, &j.Since, &j.Queue, &j.Traceparent)
		return j, err
	})
	if err != nil {
		return nil, fmt.Errorf("find events without a job: %w", err)
	}
	return jobs, nil
}
