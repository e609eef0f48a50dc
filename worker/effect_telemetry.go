package worker

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// startAttempt starts the span of an attempt.
func (t *telemetry) startAttempt(ctx context.Context, effect *ledger.Effect) (context.Context, trace.Span) {
	attempt := work{
		name: "process effect", queue: effect.Queue, messageID: effect.IdempotencyKey,
		from: effect.Traceparent, receivedAt: effect.EventReceivedAt, again: effect.Attempt > 1,
	}
	attrs := []attribute.KeyValue{
		tracing.Destination.String(effect.Destination),
		tracing.EffectKey.String(effect.IdempotencyKey),
		tracing.Attempt.Int(effect.Attempt),
	}
	if effect.Event != (identity.EventRef{}) {
		attrs = append(attrs,
			tracing.Source.String(string(effect.Event.Source)),
			tracing.EventID.String(string(effect.Event.EventID)),
			tracing.EventType.String(effect.EventType))
	}
	return t.startSpan(ctx, attempt, attrs...)
}

// timeEffect records the duration of an attempt at its destination.
func (t *telemetry) timeEffect(ctx context.Context, l *served, took time.Duration) {
	t.effectDuration.Record(ctx, took.Seconds(), t.labels.of(label{where: attrDestination, name: l.Name}))
}

// beginEffects sets the counters of first attempts and of abandoned attempts to 0. Prometheus takes
// a counter's first value as its start, so otherwise it would miss a burst of failures directly
// after the start of the process.
func (t *telemetry) beginEffects(destination string) {
	for _, state := range []ledger.EffectState{
		ledger.EffectDone, ledger.EffectPending, ledger.EffectInDoubt, ledger.EffectFailed, ledger.EffectParked,
	} {
		t.effects.Add(context.Background(), 0, t.labels.of(label{where: attrDestination, name: destination, outcome: string(state), first: true}))
	}
	t.abandoned.Add(context.Background(), 0, t.labels.of(label{where: attrDestination, name: destination}))
}

// countAbandoned counts and logs an attempt whose sender did not return in time.
func (t *telemetry) countAbandoned(ctx context.Context, l *served, effect *ledger.Effect) {
	t.abandoned.Add(ctx, 1, t.labels.of(label{where: attrDestination, name: l.Name}))
	t.tally.abandoned(l.Name)
	t.logger.LogAttrs(ctx, slog.LevelWarn, "attempt abandoned: its sender did not return",
		slog.String(logkey.Destination, l.Name),
		slog.String(logkey.EffectKey, effect.IdempotencyKey),
		slog.Int(logkey.Attempt, effect.Attempt),
		slog.Int64(logkey.Count, l.Abandoned()))
}

// countEffect counts the result of an effect's run.
func (t *telemetry) countEffect(ctx context.Context, l *served, effect *ledger.Effect, outcome string) {
	t.effects.Add(ctx, 1, t.labels.of(label{where: attrDestination, name: l.Name, outcome: outcome, first: effect.Attempt <= 1}))
	t.tally.ended(effect, outcome)
}

// logAttempt logs the result of an effect's run.
func (t *telemetry) logAttempt(ctx context.Context, asked task, made *call, outcome string, err error) {
	effect := made.effect
	t.logger.LogAttrs(ctx, levelOf(err), "effect attempted",
		slog.String(logkey.Destination, effect.Destination),
		slog.String(logkey.EffectKey, effect.IdempotencyKey),
		slog.String(logkey.Route, effect.Route),
		slog.String(logkey.Source, string(effect.Event.Source)),
		slog.String(logkey.EventID, oneLine(string(effect.Event.EventID))),
		slog.String(logkey.EventType, oneLine(effect.EventType)),
		slog.String(logkey.Outcome, outcome),
		slog.Int(logkey.Attempt, effect.Attempt),
		slog.Bool(logkey.FirstAttempt, effect.Attempt <= 1),
		slog.Int64(logkey.JobID, asked.jobID),
		slog.Float64(logkey.Duration, made.duration.Seconds()),
		errAttr(err))
}
