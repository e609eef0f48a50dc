package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// The kinds of upkeep. Like all kinds, they never change: a River leader discards stuck jobs of
// kinds that its process has not registered.
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
	// retentionEvery is the interval at which retention continues unfinished work, or checks
	// whether there is enough to delete. There is enough about once an hour.
	retentionEvery = 30 * time.Second
	// retentionBudget bounds one run. It is below minJobTimeout and below retentionEvery.
	retentionBudget = 20 * time.Second
	redactEvery     = time.Minute
	// redactFor is the maximum time that one run redacts; the next run continues.
	redactFor = 15 * time.Second
	// unredactedRuns is the number of successive unfinished runs after which redaction is reported as
	// late.
	unredactedRuns = 10
	// minutesEvery is the interval at which minutes are summed into hours and tables are measured.
	minutesEvery = 5 * time.Minute
	// alarmEvery is the interval at which alerts are evaluated.
	alarmEvery = 15 * time.Second
	// backfillEvery is the interval at which due passes over provider lists are started.
	backfillEvery = 15 * time.Second
)

// leaveUpkeep is the number of snoozes after which a job is completed without work. This applies if
// the process that takes the job still runs another job of the same kind.
const leaveUpkeep = 5

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

// upkeep returns the worker of a kind of upkeep, whose jobs have no arguments. While this process runs
// another job of a kind, it leaves later jobs to other processes for a while, and then completes them
// without work. Each period has a new job, so a run that lasts for many periods would otherwise take all
// upkeepWorkers.
func upkeep[Args river.JobArgs](work func(context.Context) error) river.Worker[Args] {
	var running atomic.Bool
	return river.WorkFunc(func(ctx context.Context, job *river.Job[Args]) error {
		if !running.CompareAndSwap(false, true) {
			if gjson.GetBytes(job.Metadata, "snoozes").Int() >= leaveUpkeep {
				return nil
			}
			return river.JobSnooze(runBusy + rand.N(runBusy)) //nolint:gosec // no secret depends on it
		}
		defer running.Store(false)
		return work(ctx)
	})
}

// unfinished returns the states of jobs that will run or are running.
func unfinished() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}
}

// upkeepOpts returns the options of a periodic job. ByPeriod prevents duplicate jobs when the leader
// changes. Only unfinished jobs count as duplicates: after the leader's clock is set back, ended jobs
// of the same periods may exist. A failed run is not repeated: the next period begins soon.
func upkeepOpts(period time.Duration) *river.InsertOpts {
	return &river.InsertOpts{
		MaxAttempts: 1,
		Queue:       riverjob.QueueUpkeep,
		UniqueOpts:  river.UniqueOpts{ByPeriod: period, ByState: unfinished()},
	}
}

// periodicJobs returns the jobs that the leading process inserts.
func (w *Worker) periodicJobs() []*river.PeriodicJob {
	always := func() bool { return true }
	every := func(period time.Duration, args river.JobArgs, wanted func() bool) *river.PeriodicJob {
		insert := func() (river.JobArgs, *river.InsertOpts) {
			if !wanted() {
				return nil, nil
			}
			return args, upkeepOpts(period)
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

// makePartitions creates the partitions of the daily tables, such as deliveries, ahead of time.
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

// reconcile gives new jobs to events and effects without a job (I5). The periodic job calls
// reconcile. Every process also calls it once at start, because perhaps no other process has run
// for a while, or the leader has another version.
func (w *Worker) reconcile(ctx context.Context) error {
	found, err := w.outbox.Reconcile(ctx)
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
	if err != nil {
		return fmt.Errorf("reconcile: %w", err)
	}
	return nil
}

// deleteExpired deletes expired data for at most retentionBudget. A process without
// Options.Retention deletes nothing.
func (w *Worker) deleteExpired(ctx context.Context) error {
	if w.opts.Retention == nil {
		return nil
	}
	report, err := w.outbox.Retention().Run(ctx, retention.Order{Settings: w.opts.Retention(), Until: time.Now().Add(retentionBudget)})
	if errors.Is(err, retention.ErrBusy) {
		return nil // another run is active: an operator's, or the previous leader's
	}
	w.tellRetention(ctx, report)
	if err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	if report.Exporting {
		return river.JobSnooze(time.Second) // the export of a day may take longer than one run
	}
	return nil
}

// tellRetention logs a run's results, or an error if the run deleted nothing for safety reasons.
func (w *Worker) tellRetention(ctx context.Context, report retention.Report) {
	for _, p := range report.Parts {
		attrs := []slog.Attr{
			slog.String(logkey.Kind, string(p.What)), slog.String(logkey.Source, string(p.Source)), slog.Time(logkey.Before, p.Before),
		}
		switch {
		case report.Stopped && p.Stopped:
			w.telemetry.logger.LogAttrs(ctx, slog.LevelError, "retention deletes nothing: more than three days of data would be deleted at once, because the database's clock jumped, a setting was shortened, or nothing ran for days; check with `hooklatch retention run --dry-run`, and confirm with `hooklatch retention run --yes`", append(attrs, slog.Time(logkey.Horizon, p.Horizon))...)
		case p.Rows > 0:
			w.telemetry.deleted.Add(ctx, p.Rows,
				metric.WithAttributes(attribute.String(attrKind, string(p.What)), attribute.String(attrSource, string(p.Source))))
			w.telemetry.logger.LogAttrs(ctx, slog.LevelInfo, "expired and deleted",
				append(attrs, slog.Int64(logkey.Count, p.Rows), slog.Int64(logkey.Bytes, p.Bytes))...)
		}
	}
}

// sumUpMinutes sums minutes into hours, and measures the tables.
func (w *Worker) sumUpMinutes(ctx context.Context) error {
	if w.opts.Minutes == nil {
		return nil
	}
	if err := w.opts.Minutes.Tidy(ctx); err != nil {
		return fmt.Errorf("minutes: %w", err)
	}
	return nil
}

// evaluateAlerts notifies operators of conditions that need attention. A process without an Alarm
// skips the run and leaves the evaluation to a later run in another process.
func (w *Worker) evaluateAlerts(ctx context.Context) error {
	if w.opts.Alarm == nil {
		return nil
	}
	return w.opts.Alarm.Turn(ctx)
}

// startPasses starts the due passes over provider lists. A process without a Backfill skips the run
// and leaves the passes to a later run in another process.
func (w *Worker) startPasses(ctx context.Context) error {
	if w.opts.Backfill == nil {
		return nil
	}
	return w.opts.Backfill.Turn(ctx)
}

// redactContent redacts content that sources do not keep. A process without Redactions skips the
// run and leaves the work to a later run in another process.
func (w *Worker) redactContent(ctx context.Context) error {
	if w.opts.Redactions == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, redactFor)
	defer cancel()
	done, err := w.outbox.Erasure().Redact(ctx, w.opts.Redactions())
	if done.Events > 0 {
		w.telemetry.logger.InfoContext(ctx, "events redacted", slog.Int(logkey.Count, done.Events))
	}
	if !done.Unfinished {
		w.unredacted.Store(0)
	} else if runs := w.unredacted.Add(1); runs%unredactedRuns == 0 {
		w.telemetry.logger.WarnContext(ctx, "redaction is late: the last runs ended before they had read all events", slog.Int64(logkey.Count, runs))
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("redact: %w", err)
	}
	return nil
}
