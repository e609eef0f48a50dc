package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// The kinds of upkeep. Like all kinds they never change: a River leader
// discards stuck jobs of kinds it does not know.
const (
	kindPartitions = "upkeep.partitions"
	kindReconcile  = "upkeep.reconcile"
	kindRetention  = "upkeep.retention"
	kindPauses     = "upkeep.pauses"
	kindProbe      = "upkeep.probe"
	kindRedact     = "upkeep.redact"
	kindChecks     = "upkeep.checks"
	kindMinutes    = "upkeep.minutes"
	kindAlarm      = "upkeep.alarm"
	kindBackfill   = "upkeep.backfill"
)

const (
	partitionsEvery = time.Hour
	reconcileEvery  = time.Minute
	// retentionEvery is how often retention looks whether there is something to
	// delete, which is so once an hour, or goes on with what it did not finish.
	retentionEvery = 30 * time.Second
	// retentionBudget is what a run may take: below the time-out of any job, and
	// retentionEvery.
	retentionBudget = 20 * time.Second
	redactEvery     = time.Minute
	// redactFor is how long one run redacts; the next goes on.
	redactFor = 15 * time.Second
	// minutesEvery is how often hours are summed up and tables measured.
	minutesEvery = 5 * time.Minute
	// alarmEvery is how often it is decided who is told what.
	alarmEvery = 15 * time.Second
	// backfillEvery is how often it is looked which lists of providers are due.
	backfillEvery = 15 * time.Second
)

type partitionsArgs struct{}

// Kind implements river.JobArgs.
func (partitionsArgs) Kind() string { return kindPartitions }

type reconcileArgs struct{}

// Kind implements river.JobArgs.
func (reconcileArgs) Kind() string { return kindReconcile }

type retentionArgs struct{}

// Kind implements river.JobArgs.
func (retentionArgs) Kind() string { return kindRetention }

type redactArgs struct{}

// Kind implements river.JobArgs.
func (redactArgs) Kind() string { return kindRedact }

type minutesArgs struct{}

// Kind implements river.JobArgs.
func (minutesArgs) Kind() string { return kindMinutes }

type alarmArgs struct{}

// Kind implements river.JobArgs.
func (alarmArgs) Kind() string { return kindAlarm }

type backfillArgs struct{}

// Kind implements river.JobArgs.
func (backfillArgs) Kind() string { return kindBackfill }

// periodicJobs are inserted by the process that leads. ByPeriod keeps a change of
// leaders from inserting one twice. A run that fails is not repeated: the next
// period comes soon.
func (w *Worker) periodicJobs() []*river.PeriodicJob {
	always := func() bool { return true }
	every := func(period time.Duration, args river.JobArgs, wanted func() bool) *river.PeriodicJob {
		insert := func() (river.JobArgs, *river.InsertOpts) {
			if !wanted() {
				return nil, nil
			}
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
		every(partitionsEvery, partitionsArgs{}, always),
		every(reconcileEvery, reconcileArgs{}, always),
		every(retentionEvery, retentionArgs{}, always),
		every(redactEvery, redactArgs{}, always),
		every(minutesEvery, minutesArgs{}, func() bool { return w.opts.Minutes != nil }),
		every(alarmEvery, alarmArgs{}, func() bool { return w.opts.Alarm != nil }),
		every(backfillEvery, backfillArgs{}, func() bool { return w.opts.Backfill != nil }),
		every(checksEvery, checksArgs{}, func() bool { return len(w.checks()) > 0 }),
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
	return w.reconcile(ctx)
}

// reconcile is what the periodic job does, and every process once when it starts: it
// may be the first for a while, and the one that leads may be of another version.
func (w *Worker) reconcile(ctx context.Context) error {
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

// retentionWorker deletes what is past its time.
type retentionWorker struct {
	river.WorkerDefaults[retentionArgs]
	*Worker
}

// Work implements river.Worker.
func (w *retentionWorker) Work(ctx context.Context, _ *river.Job[retentionArgs]) error {
	if w.opts.Retention == nil {
		return nil
	}
	report, err := w.outbox.Retention().Run(ctx, retention.Order{Settings: w.opts.Retention(), Until: time.Now().Add(retentionBudget)})
	if errors.Is(err, retention.ErrBusy) {
		return nil // a person's run, or that of a process that led before
	}
	w.tellRetention(ctx, report)
	if err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	return nil
}

// tellRetention says what a run did, and loudly that it did nothing.
func (w *Worker) tellRetention(ctx context.Context, report retention.Report) {
	for _, p := range report.Parts {
		attrs := []slog.Attr{
			slog.String(logkey.Kind, string(p.What)), slog.String(logkey.Source, string(p.Source)), slog.Time(logkey.Before, p.Before),
		}
		switch {
		case report.Stopped && p.Stopped:
			w.telemetry.logger.LogAttrs(ctx, slog.LevelError, "retention deletes nothing: more than three days would go at once, because the clock of the "+
				"database jumped, a setting was shortened, or nothing ran for days; look with `hooklatch retention run --dry-run`, let it go on with "+
				"`hooklatch retention run --yes`", append(attrs, slog.Time(logkey.Horizon, p.Horizon))...)
		case p.Rows > 0:
			w.telemetry.deleted.Add(ctx, p.Rows,
				metric.WithAttributes(attribute.String(attrKind, string(p.What)), attribute.String(attrSource, string(p.Source))))
			w.telemetry.logger.LogAttrs(ctx, slog.LevelInfo, "past its time and deleted",
				append(attrs, slog.Int64(logkey.Count, p.Rows), slog.Int64(logkey.Bytes, p.Bytes))...)
		}
	}
}

// minutesWorker sums up hours and measures the tables.
type minutesWorker struct {
	river.WorkerDefaults[minutesArgs]
	*Worker
}

// Work implements river.Worker.
func (w *minutesWorker) Work(ctx context.Context, _ *river.Job[minutesArgs]) error {
	if w.opts.Minutes == nil {
		return nil
	}
	if err := w.opts.Minutes.Tidy(ctx); err != nil {
		return fmt.Errorf("minutes: %w", err)
	}
	return nil
}

// alarmWorker tells people what needs them. A process that has nobody to tell leaves it to
// the next run.
type alarmWorker struct {
	river.WorkerDefaults[alarmArgs]
	*Worker
}

// Work implements river.Worker.
func (w *alarmWorker) Work(ctx context.Context, _ *river.Job[alarmArgs]) error {
	if w.opts.Alarm == nil {
		return nil
	}
	return w.opts.Alarm.Turn(ctx)
}

// backfillWorker fetches what webhooks did not bring.
type backfillWorker struct {
	river.WorkerDefaults[backfillArgs]
	*Worker
}

// Work implements river.Worker.
func (w *backfillWorker) Work(ctx context.Context, _ *river.Job[backfillArgs]) error {
	if w.opts.Backfill == nil {
		return nil
	}
	return w.opts.Backfill.Turn(ctx)
}

// redactWorker replaces what sources do not keep. A process that knows none leaves it to
// others: some run finds one that does.
type redactWorker struct {
	river.WorkerDefaults[redactArgs]
	*Worker
}

// Work implements river.Worker.
func (w *redactWorker) Work(ctx context.Context, _ *river.Job[redactArgs]) error {
	if w.opts.Redactions == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, redactFor)
	defer cancel()
	done, err := w.outbox.Erasure().Redact(ctx, w.opts.Redactions())
	if done.Events > 0 {
		w.telemetry.logger.InfoContext(ctx, "events redacted", slog.Int(logkey.Count, done.Events))
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("redact: %w", err)
	}
	return nil
}
