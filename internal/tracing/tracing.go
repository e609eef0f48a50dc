// Package tracing defines the attributes that the spans of gateway, worker and destinations
// share, and carries the trace context with events and effects.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Attributes for which no semantic convention exists. All others use the conventional name.
const (
	Attempt     = attribute.Key("hooklatch.attempt")     // attempt number, from 1
	Destination = attribute.Key("hooklatch.destination") // a destination's name in the configuration
	EffectKey   = attribute.Key("hooklatch.effect_key")  // idempotency key, as the destination sees it
	EventID     = attribute.Key("hooklatch.event_id")    // dedup key within the source
	EventType   = attribute.Key("hooklatch.event_type")  // the provider's name for the event
	Outcome     = attribute.Key("hooklatch.outcome")     // result, from a fixed set
	Provider    = attribute.Key("hooklatch.provider")    // provider slug
	Source      = attribute.Key("hooklatch.source")      // a source's name in the configuration
)

// System is the value of messaging.system in our spans.
const System = "hooklatch"

// header is the W3C Trace Context header.
const header = "traceparent"

// Parent returns the W3C traceparent of ctx's span, or "" without a span.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[header]
}

// WithParent returns ctx with the span in traceparent as the parent of the next span. It returns
// ctx itself if traceparent is not valid.
func WithParent(ctx context.Context, traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: traceparent})
}

// Parse returns the span context in traceparent. The result is invalid if traceparent is not valid.
func Parse(traceparent string) trace.SpanContext {
	return trace.SpanContextFromContext(WithParent(context.Background(), traceparent))
}
