package worker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/fleet"
)

// handlersGoneFor is how long a source must have been without handlers in all running processes
// before its events are routed. The program with the handlers may be restarting.
const handlersGoneFor = fleet.GatewayPatience

// handlerWatch remembers since when sources have had no handlers.
type handlerWatch struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// gone returns the sources in unhandled that all calls have listed for at least the given time.
func (h *handlerWatch) gone(unhandled []string, atLeast time.Duration) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	since := make(map[string]time.Time, len(unhandled))
	for _, source := range unhandled {
		first, known := h.since[source]
		if !known {
			first = now
		}
		since[source] = first
	}
	h.since = since
	return slices.DeleteFunc(unhandled, func(source string) bool { return now.Sub(since[source]) < atLeast })
}

// takeBackEvents moves events out of the queues of handlers if their source has no handlers in this
// process's configuration. It waits until no running process has had handlers for that source for
// limits.handlersGone.
func (w *Worker) takeBackEvents(ctx context.Context) error {
	routing := w.routing.Load()
	if len(routing.routed) == 0 {
		w.handlerWatch.gone(nil, 0) // a source that is routed again later has another 5 minutes
		return nil
	}
	unhandled, err := w.fleet.UnhandledSources(ctx, routing.routed, routing.announced)
	if err != nil {
		return err
	}
	moved, err := w.fleet.TakeBackEvents(ctx, w.handlerWatch.gone(unhandled, w.limits.handlersGone))
	if moved > 0 {
		w.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "events taken back from handlers", slog.Int64(logkey.Count, moved),
			slog.String(logkey.Reason, "their source has no handlers in this configuration, and no process has had any for a while"))
	}
	return err
}
