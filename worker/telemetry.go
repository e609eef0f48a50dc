package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/instrument"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/tracing"
)

const instrumentationName = "github.com/hooklatch/hooklatch/worker"

// Attribute keys of metrics. Spans use the keys of package tracing instead: a metric has its
// namespace in its name, and its attributes become labels.
const (
	attrCheck        = "check"
	attrDestination  = "destination"
	attrFirstAttempt = "first_attempt"
	attrKind         = "kind"
	attrOutcome      = "outcome"
	attrQueue        = "queue"
	attrSource       = "source"
)

// Outcomes of a run, in addition to the outcomes of events and the states of effects.
const (
	outcomeAlready = "already" // another run had dispatched the event, or had finished the effect
	outcomeLeft    = "left"    // a process with a newer configuration decides, or the planned event is a duplicate
	outcomeClean   = "clean"   // a check returned no row
	outcomeDone    = "done"    // a handler returned nil
	outcomeError   = "error"   // another run follows, or a handler returned an error
	outcomeFailed  = "failed"  // a run failed and no other follows, or a check could not run
	outcomeFound   = "found"   // a check returned rows
	outcomeLate    = "late"    // the attempt had lost its lease
	outcomeWaits   = "waits"   // the effect waits for its turn in its order; a new job starts it then
)

// telemetry contains a worker's logger, tracer and instruments.
type telemetry struct {
	logger *slog.Logger
	tracer trace.Tracer
	tally  *tally
	labels labels

	dispatches     metric.Int64Counter
	handlers       metric.Int64Counter
	effects        metric.Int64Counter
	rescued        metric.Int64Counter
	reconciled     metric.Int64Counter
	deleted        metric.Int64Counter
	trips          metric.Int64Counter
	abandoned      metric.Int64Counter
	checks         metric.Int64Counter
	effectDuration metric.Float64Histogram
	queueWait      metric.Float64Histogram
}

// durationBuckets are bounds in seconds, from a local call to a long timeout.
var durationBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func newTelemetry(o Options) (*telemetry, error) {
	in := instrument.NewMaker(o.MeterProvider.Meter(instrumentationName))
	t := &telemetry{
		logger: o.Logger, tracer: o.TracerProvider.Tracer(instrumentationName),
		tally:      &tally{counts: o.Minutes},
		labels:     labels{built: map[label]*instrument.Labels{}},
		dispatches: in.Counter("hooklatch.dispatch.attempts", "{attempt}", "Attempts to dispatch an event, by source, outcome and first_attempt."),
		handlers:   in.Counter("hooklatch.handler.attempts", "{attempt}", "Calls of Go handlers, by source, outcome and first_attempt."),
		effects: in.Counter("hooklatch.effect.attempts", "{attempt}",
			"Attempts of effects, and effects parked or superseded without one, by destination, outcome and first_attempt."),
		rescued:        in.Counter("hooklatch.rescued", "{job}", "Jobs that were run again because their earlier run was presumed dead, by kind."),
		reconciled:     in.Counter("hooklatch.reconciled", "{job}", "Jobs that were enqueued again because they were missing, by kind."),
		deleted:        in.Counter("hooklatch.retention.deleted", "{row}", "Rows deleted after their retention, by kind and source. Estimated for whole days."),
		trips:          in.Counter("hooklatch.breaker.trips", "{trip}", "Times this process opened the breaker of a destination, by destination."),
		abandoned:      in.Counter("hooklatch.effect.abandoned", "{attempt}", "Attempts whose call did not return within its timeout plus 5 seconds, by destination."),
		checks:         in.Counter("hooklatch.checks", "{run}", "Runs of the checks in the configuration, by check and outcome."),
		effectDuration: in.Seconds("hooklatch.effect.duration", "Duration of attempts at the destination.", durationBuckets...),
		queueWait:      in.Seconds("hooklatch.queue.wait", "Time that jobs waited after they were due, by queue.", durationBuckets...),
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("make instruments: %w", err)
	}
	for _, d := range o.Destinations {
		t.beginEffects(d.Name)
	}
	return t, nil
}

// traceFor is the time after an event's arrival in which a first run of its work continues the
// delivery's trace. Backends close a trace after a while, and users do not look for today's retry
// in yesterday's trace.
const traceFor = time.Hour

// work describes a run for startSpan.
type work struct {
	name       string // name of the span
	queue      string
	messageID  string
	from       string    // traceparent of the span that this work follows; may be empty
	receivedAt time.Time // arrival of the event; zero for work without an event
	again      bool      // true for a later attempt, or a replay
}

// startSpan starts the span of a run. The first run for an event that arrived within the last hour
// continues the trace of work.from. Any other run begins a new trace, with a link to work.from.
func (t *telemetry) startSpan(ctx context.Context, w work, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	opts := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			semconv.MessagingSystemKey.String(tracing.System),
			semconv.MessagingOperationTypeProcess,
			semconv.MessagingOperationName("process"),
			semconv.MessagingDestinationName(w.queue),
			semconv.MessagingMessageID(w.messageID),
		),
		trace.WithAttributes(attrs...),
	}
	if !w.again && clock.Since(w.receivedAt) < traceFor {
		return t.tracer.Start(tracing.WithParent(ctx, w.from), w.name, opts...)
	}
	opts = append(opts, trace.WithNewRoot())
	if origin := tracing.Parse(w.from); origin.IsValid() {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: origin}))
	}
	return t.tracer.Start(ctx, w.name, opts...)
}

// endSpan records the outcome of the run. The error is one line, as in River and in the log.
func endSpan(span trace.Span, outcome string, err error) {
	span.SetAttributes(tracing.Outcome.String(outcome))
	if err != nil {
		span.SetStatus(codes.Error, oneLine(err.Error()))
	}
	span.End()
}

// jobStarted records the job's waiting time, and whether an earlier run of the job was assumed
// dead.
func (t *telemetry) jobStarted(ctx context.Context, job *rivertype.JobRow) {
	wait := clock.Since(job.ScheduledAt)
	t.queueWait.Record(ctx, max(wait, 0).Seconds(), t.labels.of(label{where: attrQueue, name: job.Queue}))
	if n := len(job.Errors); n > 0 && job.Errors[n-1].Error == rescueError {
		t.rescued.Add(ctx, 1, metric.WithAttributes(attribute.String(attrKind, job.Kind)))
	}
}

// errAttr returns err as a log attribute, or an empty attribute if err is nil.
func errAttr(err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.String(logkey.Err, oneLine(err.Error()))
}

// levelOf returns the warning level for an error, which an operator should see, and the info level
// otherwise.
func levelOf(err error) slog.Level {
	if err != nil {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
