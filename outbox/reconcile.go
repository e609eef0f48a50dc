package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
)

const (
	// reconcileGrace is longer than any accept or dispatch takes to show its job.
	reconcileGrace = 30 * time.Second
	// reconcileLimit bounds one transaction of Reconcile.
	reconcileLimit = 1000
	// reconcileTimeout bounds its statements, which look at all that is unfinished.
	reconcileTimeout = 30 * time.Second
)

// Reconciled counts what Reconcile enqueued again.
type Reconciled struct {
	Events  int
	Effects int
}

// Reconcile finds undispatched events and unfinished effects that have no live
// job, and enqueues up to 1,000 of each again (I5). The tables are the truth:
// River prunes its jobs, discards stuck ones of kinds it does not know, and
// lets people delete them. It may run in several processes: an advisory lock
// lets one of them work and the others return.
func (o *Outbox) Reconcile(ctx context.Context) (Reconciled, error) {
	return o.reconcile(ctx, reconcileGrace)
}

func (o *Outbox) reconcile(ctx context.Context, grace time.Duration) (Reconciled, error) {
	var done Reconciled
	limits := commit.Limits{Timeout: reconcileTimeout, Statement: reconcileTimeout}
	err := o.db.Do(ctx, "reconcile", limits, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		var locked bool
		if err := o.sql.TryLock.With(tryLock{Name: string(o.schema) + ".reconcile"}).QueryRow(ctx, tx).Scan(&locked); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if !locked {
			return nil
		}
		events, err := o.eventsWithoutJob(ctx, tx, grace)
		if err != nil {
			return err
		}
		if err := o.jobs.InsertDispatches(ctx, tx, events); err != nil {
			return err
		}
		effects, err := o.ledger.ReconcileTx(ctx, tx, grace, reconcileLimit)
		done = Reconciled{Events: len(events), Effects: effects}
		return err
	})
	if err != nil {
		return Reconciled{}, fmt.Errorf("reconcile: %w", err)
	}
	return done, nil
}

func (o *Outbox) eventsWithoutJob(ctx context.Context, tx pgx.Tx, grace time.Duration) ([]riverjob.DispatchJob, error) {
	rows, err := o.sql.EventsWithoutJob.With(eventsWithoutJob{GraceSeconds: grace.Seconds(), Limit: reconcileLimit}).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("find events without a job: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (riverjob.DispatchJob, error) {
		var j riverjob.DispatchJob
		err := row.Scan(&j.Event.Source, &j.Event.EventID, &j.EventType, &j.ReceivedAt, &j.Queue, &j.Traceparent)
		return j, err
	})
	if err != nil {
		return nil, fmt.Errorf("find events without a job: %w", err)
	}
	return jobs, nil
}
