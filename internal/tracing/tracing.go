// Package tracing names the attributes that the spans of gateway, worker and
// destinations share, and carries the trace context with events and effects.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The attributes that no semantic convention has. What one has goes by its name.
const (
	Attempt     = attribute.Key("hooklatch.attempt")     // number of an attempt, from 1
	Destination = attribute.Key("hooklatch.destination") // name in the configuration
	EffectKey   = attribute.Key("hooklatch.effect_key")  // idempotency key on the wire
	EventID     = attribute.Key("hooklatch.event_id")    // dedup key within the source
	EventType   = attribute.Key("hooklatch.event_type")  // the provider's name for what happened
	Outcome     = attribute.Key("hooklatch.outcome")     // what came of it, from a fixed set
	Provider    = attribute.Key("hooklatch.provider")    // slug of the sender's kind
	Source      = attribute.Key("hooklatch.source")      // name in the configuration
)

// System is messaging.system of our spans.
const System = "hooklatch"

// header is that of the W3C Trace Context.
const header = "traceparent"

// Parent is the W3C traceparent of the span in ctx, or empty without one.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[header]
}

// WithParent returns ctx with the span that traceparent names as the one that
// the next span continues. It returns ctx itself when it names none.
func WithParent(ctx context.Context, traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: traceparent})
}

// Parse is the span that traceparent names; invalid when it names none.
func Parse(traceparent string) trace.SpanContext {
	return trace.SpanContextFromContext(WithParent(context.Background(), traceparent))
}
