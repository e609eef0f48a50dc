package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

// LogHandler returns a handler that adds the context's trace id, if any, to each line before it
// calls next. The trace id leads an operator from a line to its trace, and from a trace to its
// lines. After slog's WithGroup the trace id is part of the group, like all attributes in a line.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ next slog.Handler }

// Enabled implements slog.Handler.
func (h logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		record = record.Clone() // other handlers may hold it too
		record.AddAttrs(slog.String(logkey.TraceID, span.TraceID().String()))
	}
	return h.next.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.next.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.next.WithGroup(name)} }
