package gateway

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/tracing"
	"github.com/hooklatch/hooklatch/outbox"
)

// scopeName is the instrumentation scope for this package's spans and metrics.
const scopeName = "github.com/hooklatch/hooklatch/gateway"

// observeReply reports a request that was not refused. It records the span, the metrics and the log
// lines.
func (rx *reception) observeReply(r *reply) {
	g, src := rx.gateway, rx.source
	events := r.acceptance.Events
	rx.endSpan(r.result, r.answer.Status)
	if rx.span.IsRecording() {
		rx.span.SetAttributes(semconv.MessagingBatchMessageCount(len(events)))
		if len(events) == 1 {
			rx.span.SetAttributes(semconv.MessagingMessageID(string(events[0].EventID)))
		}
	}

	now := g.opts.Now()
	took := now.Sub(rx.started)
	g.meters.answered(rx.ctx, src.counted, r.result, took)
	src.tally.replied(len(events), r.acceptance.Duplicates(), took)
	switch r.result {
	case resultHandshake:
		g.log.handshake(rx.ctx, src, rx.echo.RealIP(), r.answer.Status)
		return
	case resultEmpty:
		g.log.empty(rx.ctx, src)
		return
	}
	if n := r.acceptance.New(); n > 0 {
		g.meters.events.Add(int64(n), src.counted.source)
	}
	if n := r.acceptance.Held(); n > 0 {
		g.meters.held.Add(rx.ctx, int64(n), src.counted.source)
	}
	if found := suspects(r.acceptance); len(found) > 0 {
		g.meters.replays.Add(rx.ctx, 1, src.counted.source)
		g.log.suspect(rx.ctx, src, rx.echo.RealIP(), found)
	}
	for _, e := range events {
		if e.Status == outbox.Duplicate {
			// The times come from two clocks, the database's and this process's, so the
			// difference may be negative.
			late := max(now.Sub(e.FirstReceivedAt), 0)
			g.meters.duplicates.Add(1, src.counted.source)
			g.meters.duplicateDelay.Record(rx.ctx, late.Seconds(), src.counted.source)
			g.log.duplicate(rx.ctx, src, e, late)
			continue
		}
		if isUntyped(e.Type) {
			g.meters.untyped.Add(1, src.counted.source)
		}
		g.log.accepted(rx.ctx, src, e, took)
	}
}

// isUntyped reports whether an event has no type from its sender. Some providers append a dot
// and details to provider.UnknownType.
func isUntyped(eventType string) bool {
	first, _, _ := strings.Cut(eventType, ".")
	return first == provider.UnknownType
}

// observeRefusal reports a request that got no 2xx response.
func (rx *reception) observeRefusal(r *refusal) {
	g := rx.gateway
	rx.endSpan(r.result, r.status)
	rx.span.SetAttributes(semconv.ErrorTypeKey.String(r.reason))
	if r.ours() {
		rx.span.SetStatus(codes.Error, r.reason)
	}
	g.meters.refused(rx.ctx, rx.source, r, g.opts.Now().Sub(rx.started))
	if rx.source != nil {
		rx.source.tally.refused(r.reason)
	} else {
		g.nowhere.refused(r.reason)
	}
	g.log.refused(rx.ctx, rx.source, rx.echo, r)
}

func (rx *reception) endSpan(res result, status int) {
	if !rx.span.IsRecording() {
		return
	}
	rx.span.SetAttributes(
		semconv.HTTPResponseStatusCode(status),
		semconv.MessagingMessageBodySize(rx.bodySize),
		tracing.Outcome.String(string(res)),
	)
}

func spanOptions(r *http.Request, src *source) []trace.SpanStartOption {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(
			semconv.HTTPRequestMethodKey.String(r.Method),
			semconv.HTTPRoute("/webhooks/{source}"),
			semconv.URLScheme(scheme),
			semconv.URLPath(r.URL.Path),
			semconv.MessagingSystemKey.String(tracing.System),
			semconv.MessagingOperationTypeReceive,
			semconv.MessagingOperationName("receive"),
			semconv.MessagingDestinationName(src.Name),
			tracing.Provider.String(src.Provider.Name),
			tracing.Source.String(src.Name),
		),
	}
	if sender := tracing.Parse(r.Header.Get("Traceparent")); sender.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: sender}))
	}
	return options
}
