package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/payload"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	// commitTimeout is the additional time, after the job's timeout, in which a handler transaction
	// can be committed. The job's context does not cancel the COMMIT: a cancelled COMMIT has an
	// unknown outcome.
	commitTimeout = 5 * time.Second
	// recordTimeout bounds the transaction that records a failed dispatch.
	recordTimeout = 5 * time.Second
	// transactionOfHandlers is the name of the transaction in which handlers write.
	transactionOfHandlers commit.Name = "dispatch_with_handlers"
)

// dispatchArgs are the arguments of a dispatch job, and the state that a run leaves for NextRetry.
type dispatchArgs struct {
	riverjob.DispatchArgs

	ran  bool          // false if the rescuer calls NextRetry
	wait time.Duration // wait before the next run, if a handler set it
}

// dispatchWorker plans an event and commits its effects: T2.
type dispatchWorker struct {
	river.WorkerDefaults[dispatchArgs]
	*Worker
}

// NextRetry implements river.Worker.
func (d *dispatchWorker) NextRetry(job *river.Job[dispatchArgs]) time.Time {
	switch {
	case !job.Args.ran:
		return clock.Now()
	case job.Args.wait > 0:
		return clock.Now().Add(job.Args.wait)
	}
	return clock.Now().Add(backoff(failures(job.JobRow), maxDispatchBackoff))
}

// dispatchRun is one run of a dispatch job.
type dispatchRun struct {
	job     *river.Job[dispatchArgs]
	routing *routing // configuration when the run began
	started time.Time
}

func (r dispatchRun) first() bool { return r.job.Attempt <= 1 }
func (r dispatchRun) last() bool  { return r.job.Attempt >= r.job.MaxAttempts }

// attrs returns the attributes of every log line about the event.
func (r dispatchRun) attrs(e *inbox.Event) []slog.Attr {
	attrs := []slog.Attr{
		slog.String(logkey.Source, string(e.Source)),
		slog.String(logkey.Provider, e.Provider),
		slog.String(logkey.EventID, oneLine(string(e.EventID))),
		slog.String(logkey.EventType, oneLine(e.Type)),
		slog.Int(logkey.Attempt, r.job.Attempt),
		slog.Bool(logkey.FirstAttempt, r.first()),
	}
	if r.job.ID > 0 { // an event that was planned in T1 has no job
		attrs = append(attrs, slog.Int64(logkey.JobID, r.job.ID))
	}
	return attrs
}

// work describes the run for its span.
func (r dispatchRun) work(e *inbox.Event) work {
	return work{
		name: "process dispatch", queue: r.job.Queue, messageID: string(e.EventID),
		from: e.Traceparent, receivedAt: e.ReceivedAt, again: !r.first() || e.Generation > 1,
	}
}

// Work implements river.Worker.
func (d *dispatchWorker) Work(ctx context.Context, job *river.Job[dispatchArgs]) error {
	job.Args.ran = true
	d.telemetry.jobStarted(ctx, job.JobRow)
	run := dispatchRun{job: job, routing: d.routing.Load(), started: time.Now()}
	ref := job.Args.Ref()
	event, err := d.outbox.Inbox().Event(ctx, ref)
	if errors.Is(err, ledger.ErrNotFound) {
		return river.JobCancel(fmt.Errorf("%s: the event no longer exists", ref))
	}
	if err != nil {
		return fmt.Errorf("%s: load event: %w", ref, err)
	}
	if event.Outcome != inbox.Received {
		return output{Outcome: outcomeAlready + " " + string(event.Outcome)}.record(ctx)
	}
	leave, err := d.enter(ctx, run, event)
	if err != nil {
		return err
	}
	defer leave()

	ctx, span := d.startSpan(ctx, run, event)
	dispatched, err := d.dispatch(ctx, run, event)
	outcome := string(dispatched.Outcome)
	left := dispatched.Left
	switch {
	case err != nil:
		outcome = outcomeError
		job.Args.wait, _ = retryWait(err)
		// A stop is not a failure of the event: River makes the stopped run's job available again.
		if isGivenUp(err) || run.last() && !errors.Is(err, context.Canceled) {
			outcome = outcomeFailed
			left, err = d.fail(ctx, run, event, err)
		}
	case !left && !dispatched.Fenced:
		outcome = outcomeAlready
	}
	if left {
		endSpan(span, outcomeLeft, nil)
		return d.leave(ctx, run, event, "another process has a newer configuration and decides")
	}
	endSpan(span, outcome, err)
	d.tell(ctx, run, event, dispatched, outcome, err)
	if err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	return nil
}

func (d *dispatchWorker) startSpan(ctx context.Context, run dispatchRun, event *inbox.Event) (context.Context, trace.Span) {
	return d.telemetry.startSpan(ctx, run.work(event),
		tracing.Source.String(string(event.Source)),
		tracing.EventID.String(string(event.EventID)),
		tracing.EventType.String(event.Type),
		tracing.Attempt.Int(run.job.Attempt))
}

// tell counts and logs the end of a run.
func (d *dispatchWorker) tell(ctx context.Context, run dispatchRun, event *inbox.Event, dispatched outbox.Dispatched, outcome string, err error) {
	if err == nil && dispatched.Fenced {
		d.telemetry.tally.dispatched(event.Source, dispatched.Outcome)
	}
	d.telemetry.dispatches.Add(ctx, 1, d.telemetry.labels.of(label{where: attrSource, name: string(event.Source), outcome: outcome, first: run.first()}))
	level := levelOf(err)
	if len(dispatched.Created) > 0 && err == nil {
		level = slog.LevelDebug // each effect has a separate log line
	}
	d.telemetry.logger.LogAttrs(ctx, level, "event dispatched", append(run.attrs(event),
		slog.String(logkey.Outcome, outcome),
		slog.Int(logkey.Count, len(dispatched.Created)),
		slog.Float64(logkey.Duration, time.Since(run.started).Seconds()),
		errAttr(err))...)
}

// dispatch plans the event and commits the plan. A panic becomes an error, so that a panic in the
// event's last attempt is recorded like any other failure.
func (d *dispatchWorker) dispatch(ctx context.Context, run dispatchRun, event *inbox.Event) (dispatched outbox.Dispatched, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	planned, err := d.plan(ctx, run, event)
	if err != nil {
		return outbox.Dispatched{}, err
	}
	// A replay of one route does not repeat handlers.
	if handlers := d.handlers.matching(string(event.Source), event.Type); len(handlers) > 0 && event.OnlyRoute == "" {
		return d.dispatchWithHandlers(ctx, run, planned, handlers)
	}
	if run.first() && !d.keepsJobs {
		planned.JobID = run.job.ID
	}
	born := d.births.expect(event, planned.Effects)
	defer born.giveBack() // free the slots if the dispatch panics
	dispatched, err = d.outbox.Dispatch(ctx, planned)
	born.begin(ctx, dispatched, err)
	if err != nil {
		return outbox.Dispatched{}, err
	}
	d.telemetry.tally.planned(planned.Effects, dispatched)
	d.logParked(ctx, run, planned, dispatched)
	if dispatched.Left || planned.JobID > 0 && dispatched.Fenced {
		return dispatched, nil // if left, the caller snoozes the job; otherwise, the dispatch has deleted the job
	}
	return dispatched, recordDispatched(ctx, run, dispatched)
}

// plan plans an event with the routes that were current when the run began.
func (d *dispatchWorker) plan(ctx context.Context, run dispatchRun, event *inbox.Event) (outbox.Dispatch, error) {
	effects, err := run.routing.table.Plan(ctx, event)
	if err != nil {
		return outbox.Dispatch{}, err
	}
	return outbox.Dispatch{
		Event: event, Effects: effects, ConfigHash: run.routing.table.ConfigHash(),
		Configuration: run.routing.configuration(run.job.Queue), Traceparent: tracing.Parent(ctx),
		SearchValues: d.searchValues(event),
	}, nil
}

// searchValues returns the values by which operators find the event.
func (d *dispatchWorker) searchValues(e *inbox.Event) []string {
	if d.opts.Search == nil {
		return nil
	}
	pointers := d.opts.Search(string(e.Source))
	if len(pointers) == 0 {
		return nil
	}
	return payload.SearchValues(e.ContentType, e.Payload(), pointers)
}

// logParked counts and logs the effects that the dispatch created as parked.
func (d *dispatchWorker) logParked(ctx context.Context, run dispatchRun, planned outbox.Dispatch, dispatched outbox.Dispatched) {
	for _, e := range planned.Effects {
		if e.Parked == "" || !slices.Contains(dispatched.Created, e.EffectID) {
			continue
		}
		d.telemetry.effects.Add(ctx, 1, d.telemetry.labels.of(label{where: attrDestination, name: e.Destination, outcome: string(ledger.EffectParked), first: true}))
		d.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "effect parked by its dispatch", append(run.attrs(planned.Event),
			slog.String(logkey.Route, e.Route),
			slog.String(logkey.Destination, e.Destination),
			slog.String(logkey.EffectKey, e.IdempotencyKey()),
			slog.String(logkey.Err, e.Parked))...)
	}
}

// dispatchWithHandlers commits the fence, the handlers' writes, the effects and the completion of
// the job in one transaction (I10). A stalled run whose job was rescued does not pass the fence if
// another run has dispatched the event.
func (d *dispatchWorker) dispatchWithHandlers(ctx context.Context, run dispatchRun, planned outbox.Dispatch, handlers handlerSet) (outbox.Dispatched, error) {
	planned.Handled = true
	tx, err := d.pool.BeginTx(ctx, d.handlersTx)
	if err != nil {
		return outbox.Dispatched{}, fmt.Errorf("begin: %w", err)
	}
	handled := &handlersTx{Tx: tx}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.opts.JobTimeout+d.limits.commit)
	defer cancel()
	committed := false
	defer func() {
		if !committed {
			_ = tx.Rollback(ending) // the original error is returned
		}
	}()
	if err := failpoint.HitIn(transactionOfHandlers, failpoint.Begin); err != nil {
		return outbox.Dispatched{}, err
	}
	dispatched, err := d.outbox.DispatchTx(ctx, handled, planned, func(ctx context.Context, tx pgx.Tx) error {
		return handlers.run(ctx, tx, planned.Event, run, d.telemetry)
	})
	if err != nil {
		return outbox.Dispatched{}, err
	}
	if dispatched.Left {
		return dispatched, nil
	}
	if err := recordDispatched(ctx, run, dispatched); err != nil {
		return outbox.Dispatched{}, err
	}
	if !dispatched.Fenced {
		return dispatched, nil
	}
	// River returns ErrNotFound if the job was rescued during this run and so is no longer in the
	// state running. The commit continues: this run holds the fence, so the job's next run finds
	// the event dispatched.
	if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ending, tx, run.job); err != nil && !errors.Is(err, rivertype.ErrNotFound) {
		return outbox.Dispatched{}, fmt.Errorf("complete job: %w", err)
	}
	if err := failpoint.HitIn(transactionOfHandlers, failpoint.BeforeCommit); err != nil {
		return outbox.Dispatched{}, err
	}
	if err := tx.Commit(ending); err != nil {
		return outbox.Dispatched{}, fmt.Errorf("commit: %w", err)
	}
	committed = true
	handled.tell()
	if err := failpoint.HitIn(transactionOfHandlers, failpoint.AfterCommit); err != nil {
		return outbox.Dispatched{}, err
	}
	d.telemetry.tally.planned(planned.Effects, dispatched)
	d.logParked(ctx, run, planned, dispatched)
	return dispatched, nil
}

func recordDispatched(ctx context.Context, run dispatchRun, dispatched outbox.Dispatched) error {
	out := output{
		Outcome:    string(dispatched.Outcome),
		Effects:    len(dispatched.Created),
		DurationMS: time.Since(run.started).Milliseconds(),
	}
	if !dispatched.Fenced {
		out.Outcome = outcomeAlready
	}
	return out.record(ctx)
}

// fail marks the event as failed, or leaves the event to a process with a newer configuration. It
// returns the error with which the run ends. If the failure cannot be recorded, the event is
// dispatched again later.
func (d *dispatchWorker) fail(ctx context.Context, run dispatchRun, event *inbox.Event, cause error) (left bool, err error) {
	if left, err = d.recordFailure(ctx, run, event, cause); err != nil || left {
		return left, errors.Join(cause, err)
	}
	if isGivenUp(cause) {
		return false, river.JobCancel(cause)
	}
	return false, cause
}

// recordFailure marks the event as failed, unless another run has dispatched it. It reports whether
// the event is left to a process with a newer configuration instead.
func (d *dispatchWorker) recordFailure(ctx context.Context, run dispatchRun, event *inbox.Event, cause error) (left bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.limits.record)
	defer cancel()
	return d.outbox.FailDispatch(ctx, event, run.routing.configuration(run.job.Queue), oneLine(cause.Error()))
}
