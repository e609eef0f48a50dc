package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/fleet"
)

// withdrawTimeout is the maximum time that a stopping process tries to withdraw its announcement.
const withdrawTimeout = 2 * time.Second

// registered returns the destinations in the form in which package fleet registers them.
func (w *Worker) registered() []fleet.Destination {
	registered := make([]fleet.Destination, 0, len(w.opts.Destinations))
	for _, d := range w.opts.Destinations {
		registered = append(registered, fleet.Destination{
			Name:       d.Name,
			Kind:       d.Sender.Kind(),
			Queue:      d.Queue,
			Policy:     d.Policy,
			ConfigHash: d.ConfigHash,
		})
	}
	return registered
}

// registerDestinations registers the destinations for programs that enqueue effects, and moves
// jobs that wait in the former queue of a destination.
func (w *Worker) registerDestinations(ctx context.Context) error {
	registered := w.registered()
	if len(registered) == 0 {
		return nil
	}
	if err := w.fleet.RegisterDestinations(ctx, registered); err != nil {
		return err
	}
	moved, err := w.fleet.TakeOver(ctx, w.presenceWith(w.routing.Load()))
	w.logMoved(ctx, moved)
	return err
}

// syncQueues moves waiting jobs out of queues that no process serves.
func (w *Worker) syncQueues(ctx context.Context) error {
	moved, err := w.fleet.SyncQueues(ctx)
	w.logMoved(ctx, moved)
	return err
}

func (w *Worker) logMoved(ctx context.Context, moved int64) {
	if moved > 0 {
		w.telemetry.logger.InfoContext(ctx, "waiting effects moved to the queues of their destinations", slog.Int64(logkey.Count, moved))
	}
}

// presence renews a process's announcement.
type presence struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// stayAnnounced periodically announces the process and frees the jobs of lost processes, until
// withdraw.
func (w *Worker) stayAnnounced() *presence {
	ctx, cancel := context.WithCancel(context.Background())
	p := &presence{cancel: cancel}
	p.done.Go(func() {
		ticker := time.NewTicker(fleet.AnnounceEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			w.announceAgain(ctx)
			w.freeJobs(ctx)
		}
	})
	return p
}

// freeJobs makes the jobs of lost processes available to all processes.
func (w *Worker) freeJobs(ctx context.Context) {
	freed, err := w.fleet.FreeJobs(ctx, rescueError)
	switch {
	case err != nil && ctx.Err() == nil:
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "jobs of lost processes were not given back yet", errAttr(err))
	case freed > 0:
		w.telemetry.logger.LogAttrs(ctx, slog.LevelInfo, "jobs of a lost process were given back", slog.Int64(logkey.Count, freed))
	}
}

// withdraw announces that the process has stopped. If that fails, the other processes notice the
// stop 30 seconds after the last announcement.
func (w *Worker) withdraw(p *presence) {
	p.cancel()
	p.done.Wait()
	w.announcing.Lock()
	w.withdrawn = true
	w.announcing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
	defer cancel()
	if err := w.fleet.Withdraw(ctx, w.opts.ID); err != nil {
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "process could not record that it has stopped", errAttr(err))
	}
}
