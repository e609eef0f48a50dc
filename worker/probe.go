package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/logkey"
	"github.com/hooklatch/hooklatch/outbox/riverjob"
)

const (
	// tripTimeout bounds a change of a breaker.
	tripTimeout = 5 * time.Second
	// probeSoon is when a probe looks again that found nothing to do yet.
	probeSoon = time.Second
)

// trip pauses a destination for the fleet.
func (w *Worker) trip(ctx context.Context, l *lane, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tripTimeout)
	defer cancel()
	attrs := []slog.Attr{slog.String(logkey.Destination, l.Name), slog.String(logkey.Reason, reason)}
	if succeeded := l.breaker.lastSuccess(); !succeeded.IsZero() {
		// Without it a probe costs nothing that should cost an attempt.
		if err := w.outbox.NoteSuccess(ctx, l.Name, time.Since(succeeded)); err != nil {
			w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "last success of the destination not recorded", slog.String(logkey.Destination, l.Name), errAttr(err))
		}
	}
	if err := w.outbox.Trip(ctx, l.Name, reason, l.Breaker.Probe); err != nil {
		// The attempts that follow trip it.
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "destination is down and could not be paused", append(attrs, errAttr(err))...)
		return
	}
	w.telemetry.trips.Add(ctx, 1, metric.WithAttributes(attribute.String(attrDestination, l.Name)))
	w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "destination is down: paused until a probe succeeds", attrs...)
	if err := probeFromJob(ctx, l.Name); err != nil {
		// The pauseKeeper inserts it within 10 seconds.
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "probe not enqueued yet", slog.String(logkey.Destination, l.Name), errAttr(err))
	}
}

// probeArgs name a destination whose breaker is not closed.
type probeArgs struct {
	Destination string `json:"destination" river:"unique"`
}

// Kind implements river.JobArgs.
func (probeArgs) Kind() string { return kindProbe }

// probeFromJob is insertProbe for the context of a job.
func probeFromJob(ctx context.Context, name string) error {
	client, err := river.ClientFromContextSafely[pgx.Tx](ctx)
	if err != nil {
		return err
	}
	return insertProbe(ctx, client, name)
}

// insertProbe makes sure that the destination has a probe job.
func insertProbe(ctx context.Context, client *river.Client[pgx.Tx], name string) error {
	_, err := client.Insert(ctx, probeArgs{Destination: name}, &river.InsertOpts{
		MaxAttempts: 1, // the pauseKeeper inserts another one
		Queue:       riverjob.QueueUpkeep,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	})
	if err != nil {
		return fmt.Errorf("insert probe: %w", err)
	}
	return nil
}

// probeWorker probes one destination until it works again: it makes an attempt
// of its oldest due effect.
type probeWorker struct {
	river.WorkerDefaults[probeArgs]
	*Worker
}

// Work implements river.Worker.
func (w *probeWorker) Work(ctx context.Context, job *river.Job[probeArgs]) error {
	l, known := w.lanes[job.Args.Destination]
	if !known {
		return river.JobSnooze(pausesEvery) // for a process that has it
	}
	state, err := w.stateOf(ctx, l.Name)
	if err != nil {
		return err
	}
	switch {
	case state.Breaker == outbox.BreakerClosed:
		return nil
	case state.OperatorPaused:
		return river.JobSnooze(pausesEvery)
	}
	// The ledger's clock decides; this only avoids asking it too early.
	if wait := time.Until(state.ProbeAt); wait > 0 {
		return river.JobSnooze(min(wait, pausesEvery))
	}
	id, due, err := w.outbox.OldestDue(ctx, l.Name)
	if err != nil {
		return err
	}
	if !due {
		return river.JobSnooze(probeSoon)
	}
	if err := l.enter(ctx); err != nil {
		return err
	}
	begun, err := w.outbox.BeginProbe(ctx, l.Name, l.lease())
	if err != nil {
		l.leave(true)
		return err
	}
	if !begun {
		l.leave(true)
		return river.JobSnooze(probeSoon)
	}
	run := w.perform(ctx, l, effectRun{id: id, jobID: job.ID, probe: true})
	l.leave(!run.attempted)
	return w.conclude(ctx, l, state, run)
}

// conclude closes the breaker, or waits for the next probe.
func (w *probeWorker) conclude(ctx context.Context, l *lane, state outbox.DestinationState, run effectRun) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tripTimeout)
	defer cancel()
	counts, failed := breakerCounts(run.sent)
	switch {
	case run.called && !failed && (counts || run.sent.Status != 0):
		if err := w.outbox.CloseBreaker(ctx, l.Name); err != nil {
			return err
		}
		l.breaker.reset()
		w.telemetry.logger.LogAttrs(ctx, slog.LevelInfo, "destination works again: its breaker is closed", slog.String(logkey.Destination, l.Name))
		return output{Outcome: "breaker closed", HTTPStatus: run.sent.Status, DurationMS: run.duration.Milliseconds()}.record(ctx)
	case run.called:
		wait := l.Breaker.nextProbe(state.OpenedAt)
		if err := w.outbox.ProbeFailed(ctx, l.Name, "the last probe failed with: "+errorLine(run.sent), wait); err != nil {
			return err
		}
		return river.JobSnooze(min(wait, pausesEvery))
	default:
		// It told nothing of the destination: somebody else had the effect, or its
		// request could not be made.
		if err := w.outbox.ProbeFailed(ctx, l.Name, state.BreakerReason, probeSoon); err != nil {
			return err
		}
		return river.JobSnooze(probeSoon)
	}
}

func (w *probeWorker) stateOf(ctx context.Context, name string) (outbox.DestinationState, error) {
	states, err := w.outbox.Destinations(ctx)
	if err != nil {
		return outbox.DestinationState{}, err
	}
	at := slices.IndexFunc(states, func(s outbox.DestinationState) bool { return s.Name == name })
	if at < 0 {
		return outbox.DestinationState{}, river.JobCancel(fmt.Errorf("%s: there is no such destination any more", name))
	}
	return states[at], nil
}
