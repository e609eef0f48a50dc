package worker

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/worker/lane"
)

// probeSoon is the wait of a probe that has nothing to do yet, or whose attempt did not show
// whether the destination works.
const probeSoon = time.Second

// probesAtOnce is the number of probes that a process makes simultaneously. A probe may last as
// long as its destination's timeout. Each destination has at most one probe. Other probes are
// delayed only if at least this many destinations do not answer. Other upkeep is never delayed.
const probesAtOnce = 32

// snoozeProbe returns a snooze, and arranges that the queue is woken when the snooze ends, because
// a poll may come up to upkeepPollInterval later. While a probe waits, all effects of its
// destination wait.
func (w *probeWorker) snoozeProbe(wait time.Duration) error {
	return w.snooze(riverjob.QueueUpkeep, wait)
}

// probeArgs name a destination whose breaker is not closed.
type probeArgs struct {
	Destination string `json:"destination" river:"unique"`
}

// Kind implements river.JobArgs.
func (probeArgs) Kind() string { return kindProbe }

// insertProbe ensures that the destination has a probe job.
func insertProbe(ctx context.Context, client *river.Client[pgx.Tx], name string) error {
	_, err := client.Insert(ctx, probeArgs{Destination: name}, &river.InsertOpts{
		MaxAttempts: 1, // the pauseKeeper inserts another probe
		Queue:       riverjob.QueueUpkeep,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: unfinished()},
	})
	if err != nil {
		return fmt.Errorf("insert probe: %w", err)
	}
	return nil
}

// probeWorker attempts the oldest due effect of a destination that is down, again and again, until
// an attempt shows that the destination works.
type probeWorker struct {
	river.WorkerDefaults[probeArgs]
	*Worker
}

// Work implements river.Worker.
func (w *probeWorker) Work(ctx context.Context, job *river.Job[probeArgs]) error {
	l, known := w.lanes[job.Args.Destination]
	if !known {
		// Only a process that serves the destination can run the job. The wait is random: after a
		// fixed wait the same process could be the first every time.
		return w.snoozeProbe(probeSoon + rand.N(probeSoon)) //nolint:gosec // no secret depends on it
	}
	state, err := w.stateOf(ctx, l.Name)
	if err != nil {
		return err
	}
	switch {
	case state.Breaker == fleet.BreakerClosed:
		return nil
	case state.OperatorPaused:
		return w.snoozeProbe(pausesEvery)
	}
	// BeginProbe decides by the database's clock; this check only avoids a query that comes too early.
	if state.ProbeIn > 0 {
		return w.snoozeProbe(min(state.ProbeIn, pausesEvery))
	}
	id, due, err := w.ledger.OldestDue(ctx, l.Name)
	if err != nil {
		return err
	}
	if !due {
		return w.snoozeProbe(probeSoon)
	}
	select {
	case w.probeSlots <- struct{}{}:
		defer func() { <-w.probeSlots }()
	default:
		return w.snoozeProbe(probeSoon + rand.N(probeSoon)) //nolint:gosec // no secret depends on it
	}
	if err := l.Enter(ctx); err != nil {
		return err
	}
	begun, err := w.fleet.BeginProbe(ctx, l.Name, l.lease())
	if err != nil {
		l.Leave(true)
		return err
	}
	if !begun {
		l.Leave(true)
		return w.snoozeProbe(probeSoon)
	}
	made := w.attempts.run(ctx, l, task{id: id, jobID: job.ID, probe: true})
	l.Leave(!made.granted())
	probed, _ := made.(ended)
	return w.conclude(ctx, l, state, probed)
}

// conclude closes the breaker, or snoozes the job until the next probe.
func (w *probeWorker) conclude(ctx context.Context, l *served, state fleet.DestinationState, e ended) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.limits.trip)
	defer cancel()
	counts, failed := lane.Counts(e.outcome)
	switch {
	case e.settled.Late:
		// This process stalled for longer than the lease, and later probes have newer results.
		return w.snoozeProbe(probeSoon)
	case !e.made || !counts && e.outcome.Status == 0:
		// The attempt does not show whether the destination works. Another run held the effect, the
		// request could not be made, or the effect was refused without a status.
		if err := w.fleet.ProbeFailed(ctx, l.Name, state.BreakerReason, probeSoon); err != nil {
			return err
		}
		return w.snoozeProbe(probeSoon)
	case !failed:
		closed, err := w.fleet.CloseBreaker(ctx, l.Name)
		if err != nil {
			return err
		}
		l.Forget()
		if closed {
			w.telemetry.tally.breaker(l.Name, measure.BreakerClosed)
			w.telemetry.logger.LogAttrs(ctx, slog.LevelInfo, "destination works again: its breaker is closed", slog.String(logkey.Destination, l.Name))
		}
		return output{Outcome: "breaker closed", HTTPStatus: e.outcome.Status, DurationMS: e.duration.Milliseconds()}.record(ctx)
	}
	wait := l.Breaker.NextProbe(clock.Now().Add(-state.OpenFor))
	if err := w.fleet.ProbeFailed(ctx, l.Name, "the last probe failed with: "+errorLine(e.outcome), wait); err != nil {
		return err
	}
	return w.snoozeProbe(min(wait, pausesEvery))
}

func (w *probeWorker) stateOf(ctx context.Context, name string) (fleet.DestinationState, error) {
	states, err := w.fleet.DestinationsForWorkers(ctx)
	if err != nil {
		return fleet.DestinationState{}, err
	}
	at := slices.IndexFunc(states, func(s fleet.DestinationState) bool { return s.Name == name })
	if at < 0 {
		return fleet.DestinationState{}, river.JobCancel(fmt.Errorf("%s: the destination no longer exists", name))
	}
	return states[at], nil
}
