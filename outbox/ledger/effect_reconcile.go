package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/pipeline"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
	"github.com/hooklatch/hooklatch/schema/statement"
)

// ordersInPage is how many orders of a destination one statement looks at.
const ordersInPage = 1000

// inSlice runs one slice of Reconcile in a transaction of its own.
type inSlice = func(ctx context.Context, slice func(ctx context.Context, tx pgx.Tx) error) error

// Reconcile enqueues unfinished effects again that have been overdue for longer
// than grace and have no live job, and counts them. What waits for a paused
// destination is not looked at. A slice reads up to look jobs of each state and
// inserts no more; the next Reconcile goes on with what is left.
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
		return 0, fmt.Errorf("find destinations of what is overdue: %w", err)
	}
	healed := 0
	for _, d := range destinations {
		queues := append(slices.Clone(d.Queues), riverjob.AsideQueue(d.Name))
		slices.Sort(queues)
		lacking := withoutJob{Destination: d.Name, Queues: slices.Compact(queues), GraceSeconds: grace.Seconds(), Look: look}
		found, err := l.reconcileDestination(ctx, lacking, run)
		if healed += found; err != nil {
			return healed, fmt.Errorf("effects of %s without a job: %w", d.Name, err)
		}
	}
	return healed, nil
}

// overdueDestination is one that effects wait for.
type overdueDestination struct {
	Name   string
	Queues []string // of their jobs
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

// enqueueAgain inserts a job for each effect that lacking finds, at the place in the
// queue that it had. It returns after which order the next page begins, or nil.
func (l *Ledger) enqueueAgain(ctx context.Context, lacking statement.Bound, run inSlice) (found int, next *orderKey, err error) {
	err = run(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var jobs []riverjob.EffectJob
		next = nil
		rows, err := lacking.Query(ctx, tx)
		if err != nil {
			return err
		}
		var j riverjob.EffectJob
		var order orderKey
		var isEnd bool
		columns := []any{
			&j.ID.Scope, &j.ID.Key, &j.ID.Generation, &j.Destination, &j.Queue,
			&j.Event.Source, &j.Event.EventID, &j.EventType, &j.Traceparent, &j.Since, &order.OrderKey, &isEnd,
		}
		if _, err := pgx.ForEachRow(rows, columns, func() error {
			if isEnd {
				next = &orderKey{Scope: j.ID.Scope, OrderKey: order.OrderKey}
			} else {
				jobs = append(jobs, j)
			}
			return nil
		}); err != nil {
			return err
		}
		found = len(jobs)
		return l.jobs.InsertEffects(ctx, tx, jobs)
	})
	return found, next, err
}
