package destination

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/outbox"
)

const scopeName = "github.com/hooklatch/hooklatch/worker/destination"

// newTracer makes spans nobody sees when there is no provider.
func newTracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	return provider.Tracer(scopeName)
}

// spanOf describes the client span of one attempt.
func spanOf(destination string, e *outbox.Effect) trace.SpanStartEventOption {
	return trace.WithAttributes(
		attribute.String("hooklatch.destination", destination),
		attribute.String("hooklatch.effect_key", e.IdempotencyKey),
		attribute.Int("hooklatch.attempt", e.Attempt),
	)
}

// recordOutcome tells the span what came of the attempt.
func recordOutcome(span trace.Span, statusKey string, out Outcome) {
	if out.Status != 0 {
		span.SetAttributes(attribute.Int(statusKey, out.Status))
	}
	if out.Err != nil {
		kind := "connection"
		if out.Status != 0 {
			kind = strconv.Itoa(out.Status)
		}
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, out.Err.Error())
	}
}
