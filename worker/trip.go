package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// tripTimeout bounds a breaker change.
const tripTimeout = 5 * time.Second

// tripper pauses destinations that are down.
type tripper struct {
	fleet     *fleet.Fleet
	telemetry *telemetry
	client    *river.Client[pgx.Tx] // set by Start, before the first attempt
	limits    *limits
}

// trip pauses a destination in all processes and inserts a probe for it, unless the destination has
// worked again since the failed attempts began. ctx is the context of an attempt; trip ignores its
// cancellation.
func (t *tripper) trip(ctx context.Context, l *served, reason string, failing time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.limits.trip)
	defer cancel()
	attrs := []slog.Attr{slog.String(logkey.Destination, l.Name), slog.String(logkey.Reason, reason)}
	var succeeded time.Duration
	if last := l.LastSuccess(); !last.IsZero() {
		succeeded = time.Since(last)
	}
	opened, err := t.fleet.TripSince(ctx, l.Name, reason, l.Breaker.Probe, fleet.Evidence{Failing: failing, Succeeded: succeeded})
	if err != nil {
		// The next failed attempts try again to pause the destination.
		t.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "destination is down and could not be paused", append(attrs, errAttr(err))...)
		return
	}
	if !opened {
		return // another attempt opened the breaker, or the destination has worked since these failures began
	}
	t.telemetry.tally.breaker(l.Name, measure.BreakerOpened)
	t.telemetry.trips.Add(ctx, 1, metric.WithAttributes(attribute.String(attrDestination, l.Name)))
	t.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "destination is down: paused until a probe succeeds", attrs...)
	if err := insertProbe(ctx, t.client, l.Name); err != nil {
		// The pauseKeeper soon inserts the probe.
		t.telemetry.logger.LogAttrs(ctx, slog.LevelWarn, "probe not enqueued yet", slog.String(logkey.Destination, l.Name), errAttr(err))
	}
}
