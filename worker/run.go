package worker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// runFor is the maximum time that one run of a job processes a bulk run; the job's next run
// continues. It is below minJobTimeout.
const runFor = 20 * time.Second

// runsAtOnce is the number of bulk runs that a process works on simultaneously. Bulk runs share the
// workers of upkeep, and upkeep must not wait for bulk runs.
const runsAtOnce = 2

// runBusy is the minimum wait of a job that found no free slot. The maximum is twice as long.
const runBusy = 2 * time.Second

// runWorker processes bulk runs requested by operators.
type runWorker struct {
	river.WorkerDefaults[riverjob.RunArgs]
	*Worker
}

// Work implements river.Worker.
func (w *runWorker) Work(ctx context.Context, job *river.Job[riverjob.RunArgs]) error {
	select {
	case w.runSlots <- struct{}{}:
		defer func() { <-w.runSlots }()
	default:
		return river.JobSnooze(runBusy + rand.N(runBusy)) //nolint:gosec // no secret depends on it
	}
	run, err := w.runs.Work(ctx, job.Args.Run, time.Now().Add(runFor), nil)
	if err != nil {
		return err
	}
	switch {
	case run.State == runs.Running && !run.Worked:
		return river.JobSnooze(0)
	case run.State.Ended():
		w.telemetry.logger.LogAttrs(ctx, slog.LevelInfo, "a bulk run has ended", slog.Int64(logkey.Run, run.ID), slog.String(logkey.State, string(run.State)),
			slog.Int64(logkey.Count, run.Changed))
	}
	return nil
}
