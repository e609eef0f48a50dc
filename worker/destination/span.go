package destination

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const scopeName = "github.com/hooklatch/hooklatch/worker/destination"

// newTracer returns a tracer that discards its spans if there is no provider.
func newTracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	return provider.Tracer(scopeName)
}

// spanOf returns the span attributes of one attempt.
func spanOf(destination string, e *ledger.Effect) trace.SpanStartEventOption {
	return trace.WithAttributes(
		tracing.Destination.String(destination),
		tracing.EffectKey.String(e.IdempotencyKey),
		tracing.Attempt.Int(e.Attempt),
	)
}

// serverOf returns the span attributes of a server. It omits path and query, because some
// destinations have secrets in them (I12).
func serverOf(host, port string) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.ServerAddress(host)}
	if number, err := strconv.Atoi(port); err == nil {
		attrs = append(attrs, semconv.ServerPort(number))
	}
	return attrs
}

// recordOutcome adds the outcome of the attempt to the span.
func recordOutcome(span trace.Span, statusKey attribute.Key, out Outcome) {
	if out.Status != 0 {
		span.SetAttributes(statusKey.Int(out.Status))
	}
	if out.Err != nil {
		kind := "connection"
		if out.Status != 0 {
			kind = strconv.Itoa(out.Status)
		}
		span.SetAttributes(semconv.ErrorTypeKey.String(kind))
		span.SetStatus(codes.Error, out.Err.Error())
	}
}
