package worker

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// connsForTheRest counts two committers each for dispatch, claim and settlement, and six
// connections for River. One of the six listens. The others fetch jobs, complete them, clean up,
// and load the data of jobs.
const connsForTheRest = 12

// ConnsNeeded returns the number of connections that a Worker and its Outbox may hold
// simultaneously. inPostgres is the sum of Concurrency of the destinations that write to the same
// Postgres. handlers is Options.HandlerWorkers, or 0 without handlers. Everything else needs 12
// connections. With a smaller pool, claims and settlements wait until slow effects and handlers
// end.
func ConnsNeeded(inPostgres, handlers int) int { return inPostgres + handlers + connsForTheRest }

// warnOfFewConns logs a warning if slow work can use up the pool. A small pool is not an error: a
// program may run fewer attempts and handlers simultaneously than its options allow.
func (w *Worker) warnOfFewConns(ctx context.Context) {
	inPostgres, handlers := 0, 0
	for _, d := range w.opts.Destinations {
		if _, ok := d.Sender.(destination.Transactional); ok {
			inPostgres += d.Concurrency
		}
	}
	if len(w.handlers) > 0 {
		handlers = w.opts.HandlerWorkers
	}
	need, has := ConnsNeeded(inPostgres, handlers), int(w.pool.Config().MaxConns)
	if inPostgres+handlers == 0 || has >= need {
		return
	}
	w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "slow handlers and sql effects can use up the connection pool: enlarge it, or run fewer of them simultaneously",
		slog.String(logkey.Reason, fmt.Sprintf("the pool has %d connections; %d sql effects, %d handlers and %d for the rest may need %d",
			has, inPostgres, handlers, connsForTheRest, need)))
}
