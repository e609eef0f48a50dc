package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/outbox/fleet"
)

const (
	pausesEvery = 10 * time.Second
	// pausesTimeout bounds one look.
	pausesTimeout = 10 * time.Second
)

// pauseKeeper makes River's queues agree with the destinations and with the
// running processes, and has every open breaker probed. It is no job: one every
// ten seconds would be all that can be seen among the completed jobs. Every
// process does it, because it changes nothing where all agree.
type pauseKeeper struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// keepPauses looks at once, and then from time to time until stop.
func (w *Worker) keepPauses(client *river.Client[pgx.Tx]) *pauseKeeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &pauseKeeper{cancel: cancel}
	k.done.Go(func() {
		ticker := time.NewTicker(pausesEvery)
		defer ticker.Stop()
		for {
			if err := w.syncPauses(ctx, client); err != nil && ctx.Err() == nil {
				w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "pauses of destinations not looked after", errAttr(err))
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return k
}

// stop returns when nothing is changed any more. It may be called again.
func (k *pauseKeeper) stop() {
	k.cancel()
	k.done.Wait()
}

func (w *Worker) syncPauses(ctx context.Context, client *river.Client[pgx.Tx]) error {
	ctx, cancel := context.WithTimeout(ctx, pausesTimeout)
	defer cancel()
	// Each on its own: one that fails must not keep the others from running.
	errs := []error{w.syncQueues(ctx), w.fleet.SyncPauses(ctx)}
	states, err := w.fleet.Destinations(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, state := range states {
		if _, known := w.lanes[state.Name]; known && state.Breaker != fleet.BreakerClosed {
			errs = append(errs, insertProbe(ctx, client, state.Name))
		}
	}
	return errors.Join(errs...)
}

// pausesArgs is the job that did this in older versions. One of them may still
// insert it while a fleet is being updated.
type pausesArgs struct{}

// Kind implements river.JobArgs.
func (pausesArgs) Kind() string { return kindPauses }

// pausesWorker leaves the work to the pauseKeeper of its process.
type pausesWorker struct {
	river.WorkerDefaults[pausesArgs]
}

// Work implements river.Worker.
func (*pausesWorker) Work(context.Context, *river.Job[pausesArgs]) error { return nil }
