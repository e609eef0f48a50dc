package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/internal/statement"
)

// ordersInPage is the maximum number of a destination's orders that one statement reads.
const ordersInPage = 1000

// slice is one step of Reconcile. It finds effects without a job and returns their keys.
// enqueue inserts their jobs in the transaction in which they were found.
type slice = func(ctx context.Context, in statement.DB) (lacking []string, enqueue func(ctx context.Context, tx pgx.Tx) error, err error)

// inSlice runs a slice and decides whether to enqueue the effects it finds.
type inSlice = func(ctx context.Context, run slice) error

// Reconcile finds and counts unfinished effects that are overdue by more than grace and have no
// live job. The function run decides whether these effects are enqueued again. Effects of a paused
// destination are skipped. The parameter look limits the jobs that a slice reads for each queue,
// state and priority. For running jobs, that limit is ten times higher. The parameter also limits
// the unordered effects that one call finds at a destination. The next call finds further ones. If
// Postgres refuses a statement for one destination, Reconcile continues with the others.
func (l *Ledger) Reconcile(ctx context.Context, grace time.Duration, look int, run inSlice) (int, error) {
	var destinations []overdueDestination
	err := l.db.Statement("overdue_destinations", func(db pipeline.ByIndex) error {
		rows, err := l.sql.OverdueDestinations.Query(ctx, db)
		if err == nil {
			destinations, err = pgx.CollectRows(rows, pgx.RowToStructByPos[overdueDestination])
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("find destinations with unfinished effects: %w", err)
	}
	healed := 0
	var errs []error
	for _, d := range destinations {
		queues := append(slices.Clone(d.Queues), riverjob.AsideQueue(d.Name))
		slices.Sort(queues)
		lacking := withoutJob{Destination: d.Name, Queues: slices.Compact(queues), GraceSeconds: grace.Seconds(), Look: look}
		found, err := l.reconcileDestination(ctx, lacking, run)
		healed += found
		if err == nil {
			continue
		}
		errs = append(errs, fmt.Errorf("effects of %s without a job: %w", d.Name, err))
		if ctx.Err() != nil || !sqlstate.Answered(err) {
			break
		}
	}
	return healed, errors.Join(errs...)
}

// overdueDestination is a destination with unfinished effects.
type overdueDestination struct {
	Name   string
	Queues []string // queues of their jobs
}

func (l *Ledger) reconcileDestination(ctx context.Context, lacking withoutJob, run inSlice) (int, error) {
	healed, _, err := l.enqueueAgain(ctx, l.sql.EffectsWithoutJob.With(lacking), run)
	page := &orderKey{}
	for page != nil && err == nil {
		var found int
		orders := ordersWithoutJob{withoutJob: lacking, pageOfOrders: pageOfOrders{AfterScope: page.Scope, AfterOrderKey: page.OrderKey, Limit: ordersInPage}}
		found, page, err = l.enqueueAgain(ctx, l.sql.OrdersWithoutJob.With(orders), run)
		healed += found
	}
	return healed, err
}

// enqueueAgain uses run to insert a job for each effect that a statement finds, at the effect's
// former position in the queue. next is the order after which the next page begins, or nil after
// the last page.
func (l *Ledger) enqueueAgain(ctx context.Context, lacking statement.Bound, run inSlice) (found int, next *orderKey, err error) {
	err = run(ctx, func(ctx context.Context, in statement.DB) ([]string, func(context.Context, pgx.Tx) error, error) {
		var jobs []riverjob.EffectJob
		var keys []string
		found, next = 0, nil
		rows, err := lacking.Query(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		var j riverjob.EffectJob
		var order orderKey
		var isEnd bool
		columns := []any{
			&j.ID.Scope, &j.ID.Key, &j.ID.Generation, &j.Destination, &j.Queue,
			&j.Event.Source, &j.Event.EventID, &j.EventType, &j.Origin, &j.Traceparent, &j.Since, &order.OrderKey, &isEnd,
		}
		if _, err := pgx.ForEachRow(rows, columns, func() error {
			if isEnd {
				next = &orderKey{Scope: j.ID.Scope, OrderKey: order.OrderKey}
			} else {
				jobs, keys = append(jobs, j), append(keys, j.ID.IdempotencyKey())
			}
			return nil
		}); err != nil {
			return nil, nil, err
		}
		found = len(jobs)
		return keys, func(ctx context.Context, tx pgx.Tx) error { return l.jobs.InsertEffects(ctx, tx, jobs) }, nil
	})
	if err != nil {
		return 0, nil, err
	}
	return found, next, nil
}
