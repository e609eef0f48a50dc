// Package tracing names the attributes that the spans of gateway, worker and
// destinations share, and carries the trace context with events and effects.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The attributes for which no semantic convention exists. All others use the conventional
// name.
const (
	Attempt     = attribute.Key("hooklatch.attempt")     // number of an attempt, from 1
	Destination = attribute.Key("hooklatch.destination") // name in the configuration
	EffectKey   = attribute.Key("hooklatch.effect_key")  // idempotency key on the wire
	EventID     = attribute.Key("hooklatch.event_id")    // dedup key within the source
	EventType   = attribute.Key("hooklatch.event_type")  // the provider's name for the event
	Outcome     = attribute.Key("hooklatch.outcome")     // result, from a fixed set
	Provider    = attribute.Key("hooklatch.provider")    // slug of the provider
	Source      = attribute.Key("hooklatch.source")      // name in the configuration
)

// System is messaging.system of our spans.
const System = "hooklatch"

// header is the header of the W3C Trace Context.
const header = "traceparent"

// Parent returns the W3C traceparent of the span in ctx, or "" without one.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[header]
}

// WithParent returns ctx with the span in traceparent, which the next span continues. It
// returns ctx itself if traceparent is not valid.
func WithParent(ctx context.Context, traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: traceparent})
}

// Parse returns the span in traceparent; it is invalid if traceparent is.
func Parse(traceparent string) trace.SpanContext {
	return trace.SpanContextFromContext(WithParent(context.Background(), traceparent))
}
