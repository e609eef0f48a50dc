package worker

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/worker/lane"
	"github.com/hooklatch/hooklatch/worker/route"
)

const (
	// foreignSnooze is the wait of an event that is left to another process. After foreignLooks
	// snoozes, no process seems to take the event, and the wait becomes patientSnooze. A random
	// part, up to the same length, is added to each wait.
	foreignSnooze = 300 * time.Millisecond
	patientSnooze = 5 * time.Second
	foreignLooks  = 30
	// handlerSlotWait is the maximum time that a run waits for a slot in this process.
	handlerSlotWait = time.Second
	// findQueuesEvery is the interval at which a process with handlers for all sources looks for
	// new sources.
	findQueuesEvery = time.Second
)

//go:embed query/*.sql
var queries embed.FS

// statements contains the SQL statements in query/*.sql.
type statements struct {
	HandlerQueues statement.Bound
}

// enter reserves a handler slot for the event, if the event has handlers in this process. The
// caller must call the returned function after the dispatch, to free the slot. The error is a
// snooze if the event belongs to another process, or if all slots stay in use for handlerSlotWait.
// A snooze does not count as an attempt. If ctx ends first, enter returns the error of ctx.
func (d *dispatchWorker) enter(ctx context.Context, run dispatchRun, event *inbox.Event) (leave func(), err error) {
	switch {
	case riverjob.IsHandlersQueue(run.job.Queue):
		if !d.handlers.serves(string(event.Source)) {
			return nil, d.leave(ctx, run, event, "it waits for a handler, and this process has none for its source")
		}
	case !run.routing.has(string(event.Source)) && !d.handlers.serves(string(event.Source)):
		return nil, d.leave(ctx, run, event, "the configuration of this process does not have its source")
	case run.routing.table.LeavesToHandlers(event.Source) && event.OnlyRoute == "" && !d.handlers.serves(string(event.Source)):
		return nil, d.leaveToHandlers(ctx, run, event)
	}
	if len(d.handlers.matching(string(event.Source), event.Type)) == 0 {
		return func() {}, nil
	}
	timer := time.NewTimer(handlerSlotWait)
	defer timer.Stop()
	select {
	case d.handlerSlots <- struct{}{}:
		return func() { <-d.handlerSlots }, nil
	case <-timer.C:
		return nil, river.JobSnooze(lane.NoSlotSnooze)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leave returns a snooze, which does not count as an attempt. When the snooze ends, this process
// wakes the job's queue in every process, so that another process can take the event. Each reason
// is logged once for each source.
func (d *dispatchWorker) leave(ctx context.Context, run dispatchRun, event *inbox.Event, reason string) error {
	if _, told := d.foreign.LoadOrStore("source "+string(event.Source)+" "+reason, true); !told {
		d.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "event left to another process", append(run.attrs(event),
			slog.String(logkey.Queue, run.job.Queue),
			slog.String(logkey.Reason, reason+"; this is logged once"))...)
	}
	wait := foreignSnooze
	if gjson.GetBytes(run.job.Metadata, "snoozes").Int() >= foreignLooks {
		wait = patientSnooze
	}
	wait += rand.N(wait) //nolint:gosec // no secret depends on it
	// Polls alone are not enough: the first process to poll could take the event every time.
	return d.snooze(run.job.Queue, wait)
}

// leaveToHandlers moves an event to the queue of its source's handlers, and returns a snooze. The event
// was accepted before the source had handlers. The routes of this process would skip it.
func (d *dispatchWorker) leaveToHandlers(ctx context.Context, run dispatchRun, event *inbox.Event) error {
	queue := riverjob.HandlersQueue(event.Source)
	moved, err := d.fleet.RedirectEvent(ctx, event.EventRef, run.job.ID, queue, run.routing.announced)
	if err != nil {
		return err
	}
	if !moved {
		return d.leave(ctx, run, event, "another process has a newer configuration and decides")
	}
	return d.snooze(queue, foreignSnooze)
}

// queues returns the known queues of the handlers. If all is true, a handler serves all sources:
// the queues of further sources are found only through their jobs.
func (s handlerSet) queues() (known []string, all bool) {
	if len(s) == 0 {
		return nil, false
	}
	known = []string{riverjob.QueueHandlers}
	for _, r := range s {
		if r.source == route.EverySource {
			all = true
			continue
		}
		known = append(known, riverjob.HandlersQueue(identity.Source(r.source)))
	}
	return known, all
}

// queueFinder adds the queues of new sources to a process that has handlers for all sources.
type queueFinder struct {
	worker *Worker
	client *river.Client[pgx.Tx]
	worked map[string]bool
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// findQueues looks for queues immediately, and then periodically until stop.
func (w *Worker) findQueues(client *river.Client[pgx.Tx], worked []string) *queueFinder {
	ctx, cancel := context.WithCancel(context.Background())
	f := &queueFinder{worker: w, client: client, worked: make(map[string]bool), cancel: cancel}
	for _, queue := range worked {
		f.worked[queue] = true
	}
	f.done.Go(func() {
		ticker := time.NewTicker(findQueuesEvery)
		defer ticker.Stop()
		for {
			if err := f.look(ctx); err != nil && ctx.Err() == nil {
				w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "queues of handlers not found", errAttr(err))
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return f
}

func (f *queueFinder) look(ctx context.Context) error {
	rows, err := f.worker.sql.HandlerQueues.Query(ctx, f.worker.pool)
	if err != nil {
		return fmt.Errorf("list queues: %w", err)
	}
	queues, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list queues: %w", err)
	}
	for _, queue := range queues {
		if !riverjob.IsHandlersQueue(queue) || f.worked[queue] {
			continue
		}
		if err := f.client.Queues().Add(queue, river.QueueConfig{MaxWorkers: f.worker.opts.HandlerWorkers}); err != nil {
			return fmt.Errorf("work queue %s: %w", queue, err)
		}
		f.worked[queue] = true
	}
	return nil
}

// stop stops the search, and returns when no more queues will be added. It may be called again.
func (f *queueFinder) stop() {
	f.cancel()
	f.done.Wait()
}
