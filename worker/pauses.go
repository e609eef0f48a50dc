package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/worker/lane"
)

const (
	pausesEvery = 10 * time.Second
	// pausesTimeout bounds one round of syncPauses or watchServer.
	pausesTimeout = 10 * time.Second
	// tellWithheldEvery is the interval between log lines about withheld at_most_once effects.
	tellWithheldEvery = 10 * time.Minute
)

// pauseKeeper keeps River's queues in line with the destinations and with the running processes.
// It also ensures that open breakers are probed and bulk runs are processed, and logs while
// at_most_once effects are withheld. It is not a job: one job every ten seconds would hide all
// other completed jobs in River UI. Every process has a pauseKeeper, which changes nothing if
// another process has already made the changes.
type pauseKeeper struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	withheldTold time.Time // time of the last log line about withheld effects; zero if none are withheld
}

// keepPauses starts a pauseKeeper, which works immediately and then periodically until stop. It
// also starts the Recaller, and searches once for work that lost its job.
func (w *Worker) keepPauses(client *river.Client[pgx.Tx]) *pauseKeeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &pauseKeeper{cancel: cancel}
	k.done.Go(func() {
		ticker := time.NewTicker(pausesEvery)
		defer ticker.Stop()
		for {
			if err := w.syncPauses(ctx, client); err != nil && ctx.Err() == nil {
				w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "pauses of destinations not refreshed", errAttr(err))
			}
			if err := w.watchServer(ctx, &k.withheldTold); err != nil && ctx.Err() == nil {
				w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "cannot tell whether the database is on the same server as before", errAttr(err))
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	k.done.Go(func() { lane.NewRecaller(w.fleet, w.openLanes(), pausesEvery, w.telemetry.logger).Run(ctx) })
	k.done.Go(func() {
		if err := w.reconcile(ctx); err != nil && ctx.Err() == nil {
			w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "the search for work without a job is repeated in a minute", errAttr(err))
		}
	})
	return k
}

// stop stops the pauseKeeper, and returns when no more changes will be made. It may be called more
// than once.
func (k *pauseKeeper) stop() {
	k.cancel()
	k.done.Wait()
}

func (w *Worker) syncPauses(ctx context.Context, client *river.Client[pgx.Tx]) error {
	ctx, cancel := context.WithTimeout(ctx, pausesTimeout)
	defer cancel()
	// All steps run: a failed step must not prevent the others.
	errs := []error{w.syncQueues(ctx), w.fleet.SyncPauses(ctx), w.runs.Enqueue(ctx)}
	states, err := w.fleet.DestinationsForWorkers(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, state := range states {
		if _, known := w.lanes[state.Name]; known && state.Breaker != fleet.BreakerClosed {
			errs = append(errs, insertProbe(ctx, client, state.Name))
		}
	}
	return errors.Join(append(errs, w.takeBackEvents(ctx))...)
}

// watchServer logs that at_most_once effects are withheld because no operator has confirmed the
// database server. It logs at most one line every tellWithheldEvery; told is the time of the last
// line. With Options.Synchronous, a promoted standby needs no confirmation, because it has all
// data.
func (w *Worker) watchServer(ctx context.Context, told *time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, pausesTimeout)
	defer cancel()
	if w.opts.Synchronous {
		followed, err := w.outbox.Repair().FollowPromotion(ctx)
		if err != nil {
			return err
		}
		if followed {
			w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "a standby was promoted: commits wait for it, so nothing is missing")
		}
	}
	state, err := w.outbox.Repair().State(ctx)
	if err != nil {
		return err
	}
	servers := []slog.Attr{slog.String(logkey.Server, state.Here.String()), slog.String(logkey.KnownServer, state.Known.String())}
	switch {
	case state.Withheld && time.Since(*told) > tellWithheldEvery:
		*told = time.Now()
		w.telemetry.logger.LogAttrs(ctx, slog.LevelError, "at_most_once effects are withheld: the database was restored, promoted or moved, and they may "+
			"have been done already; confirm what happened with `hooklatch repair --restored-to TIME` or `hooklatch repair --promoted`", servers...)
	case !state.Withheld && !told.IsZero():
		*told = time.Time{}
		w.telemetry.logger.LogAttrs(ctx, slog.LevelInfo, "at_most_once effects are no longer withheld", servers...)
	}
	return nil
}

// pausesArgs are the arguments of a job that did the pauseKeeper's work in older versions. An
// older version may still insert this job during a rolling update.
type pausesArgs struct{}

// Kind implements river.JobArgs.
func (pausesArgs) Kind() string { return kindPauses }

// leftToPauseKeeper does nothing: the process's pauseKeeper does the work.
func leftToPauseKeeper(context.Context) error { return nil }
