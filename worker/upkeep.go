package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/outbox/logkey"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
)

// The kinds of upkeep. Like all kinds they never change: a River leader
// discards stuck jobs of kinds it does not know.
const (
	kindPartitions = "upkeep.partitions"
	kindReconcile  = "upkeep.reconcile"
	kindPauses     = "upkeep.pauses"
	kindProbe      = "upkeep.probe"
)

const (
	partitionsEvery = time.Hour
	reconcileEvery  = time.Minute
)

type partitionsArgs struct{}

// Kind implements river.JobArgs.
func (partitionsArgs) Kind() string { return kindPartitions }

type reconcileArgs struct{}

// Kind implements river.JobArgs.
func (reconcileArgs) Kind() string { return kindReconcile }

// periodicJobs are inserted by the process that leads. ByPeriod keeps a change of
// leaders from inserting one twice. A run that fails is not repeated: the next
// period comes soon.
func periodicJobs() []*river.PeriodicJob {
	every := func(period time.Duration, args river.JobArgs) *river.PeriodicJob {
		insert := func() (river.JobArgs, *river.InsertOpts) {
			return args, &river.InsertOpts{
				MaxAttempts: 1,
				Queue:       riverjob.QueueUpkeep,
				UniqueOpts:  river.UniqueOpts{ByPeriod: period},
			}
		}
		return river.NewPeriodicJob(river.PeriodicInterval(period), insert,
			&river.PeriodicJobOpts{ID: args.Kind(), RunOnStart: true})
	}
	return []*river.PeriodicJob{
		every(partitionsEvery, partitionsArgs{}),
		every(reconcileEvery, reconcileArgs{}),
	}
}

// partitionsWorker keeps the partitions of deliveries ahead.
type partitionsWorker struct {
	river.WorkerDefaults[partitionsArgs]
	*Worker
}

// Work implements river.Worker.
func (w *partitionsWorker) Work(ctx context.Context, _ *river.Job[partitionsArgs]) error {
	return w.makePartitions(ctx)
}

func (w *Worker) makePartitions(ctx context.Context) error {
	made, err := w.outbox.MakePartitions(ctx)
	if err != nil {
		return fmt.Errorf("make partitions: %w", err)
	}
	if made > 0 {
		w.telemetry.logger.InfoContext(ctx, "partitions of deliveries made", slog.Int(logkey.Count, made))
	}
	return nil
}

// reconcileWorker gives a new job to every event and effect that lost its own (I5).
type reconcileWorker struct {
	river.WorkerDefaults[reconcileArgs]
	*Worker
}

// Work implements river.Worker.
func (w *reconcileWorker) Work(ctx context.Context, _ *river.Job[reconcileArgs]) error {
	found, err := w.outbox.Reconcile(ctx)
	if err != nil {
		return fmt.Errorf("reconcile: %w", err)
	}
	for _, f := range []struct {
		kind  string
		count int
	}{{riverjob.KindDispatch, found.Events}, {riverjob.KindEffect, found.Effects}} {
		if f.count == 0 {
			continue
		}
		w.telemetry.reconciled.Add(ctx, int64(f.count), metric.WithAttributes(attribute.String(attrKind, f.kind)))
		w.telemetry.logger.WarnContext(ctx, "work without a job enqueued again",
			slog.String(logkey.Kind, f.kind), slog.Int(logkey.Count, f.count))
	}
	return nil
}
