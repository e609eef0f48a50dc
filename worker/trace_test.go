package worker

import (
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// traced makes b's worker write its spans to the returned exporter.
func (b *bundle) traced() *tracetest.InMemoryExporter {
	exporter := tracetest.NewInMemoryExporter()
	b.opts.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	return exporter
}

// spansOf returns the spans with the name, in the order in which they ended.
func spansOf(exporter *tracetest.InMemoryExporter, name string) []tracetest.SpanStub {
	var found []tracetest.SpanStub
	for _, span := range exporter.GetSpans() {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// requireChild requires that the span continues the trace of parent.
func requireChild(t *testing.T, span tracetest.SpanStub, parent trace.SpanContext) {
	t.Helper()
	require.Equal(t, parent.TraceID().String(), span.SpanContext.TraceID().String(), span.Name)
	require.Equal(t, parent.SpanID().String(), span.Parent.SpanID().String(), span.Name)
	require.Empty(t, span.Links)
}

// requireRoot requires that the span begins a trace, with a link to origin.
func requireRoot(t *testing.T, span tracetest.SpanStub, origin trace.SpanContext) {
	t.Helper()
	require.False(t, span.Parent.IsValid(), span.Name)
	require.NotEqual(t, origin.TraceID().String(), span.SpanContext.TraceID().String())
	require.Len(t, span.Links, 1)
	require.Equal(t, origin.SpanID().String(), span.Links[0].SpanContext.SpanID().String())
}

// received returns the context of the span that bundle.accept stores as the trace parent of a
// delivery.
func received(t *testing.T) trace.SpanContext {
	t.Helper()
	traceID, err := trace.TraceIDFromHex("0af7651916cd43dd8448eb211c80319c")
	require.NoError(t, err)
	spanID, err := trace.SpanIDFromHex("b7ad6b7169203331")
	require.NoError(t, err)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled, Remote: true})
}

// failing returns a handler that responds 503 the given number of times, then 200.
func failing(times int) http.HandlerFunc {
	left := make(chan struct{}, times)
	for range times {
		left <- struct{}{}
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-left:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
		}
	}
}

func TestDispatchAndFirstAttemptContinueTheTraceOfTheDelivery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spans := b.traced()
	b.to(t, failing(1))
	b.accept(t, "evt_1", false)
	events := b.start(t, b.worker(t))
	next(t, events, riverjob.KindDispatch, river.EventKindJobCompleted)
	next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)

	dispatch := spansOf(spans, "process dispatch")[0]
	requireChild(t, dispatch, received(t))
	attempts := spansOf(spans, "process effect")
	require.Len(t, attempts, 2)
	requireChild(t, attempts[0], dispatch.SpanContext)
	requireRoot(t, attempts[1], dispatch.SpanContext)
	calls := spansOf(spans, "POST app")
	require.Len(t, calls, 2)
	requireChild(t, calls[0], attempts[0].SpanContext)
	requireChild(t, calls[1], attempts[1].SpanContext)

	// The effect stores the span of its dispatch as its trace parent.
	effect := b.effects(t)[0]
	require.Equal(t, "00-"+dispatch.SpanContext.TraceID().String()+"-"+dispatch.SpanContext.SpanID().String()+"-01", effect.Traceparent)

	require.Subset(t, dispatch.Attributes, []attribute.KeyValue{
		attribute.String("messaging.system", "hooklatch"),
		attribute.String("messaging.operation.type", "process"),
		attribute.String("messaging.destination.name", "dispatch"),
		attribute.String("messaging.message.id", "evt_1"),
		attribute.String("hooklatch.source", testSource),
		attribute.String("hooklatch.outcome", "dispatched"),
	})
	require.Subset(t, attempts[0].Attributes, []attribute.KeyValue{
		attribute.String("messaging.destination.name", "dst_app"),
		attribute.String("messaging.message.id", effect.IdempotencyKey),
		attribute.String("hooklatch.destination", "app"),
		attribute.String("hooklatch.source", testSource),
		attribute.String("hooklatch.event_id", "evt_1"),
		attribute.String("hooklatch.outcome", "in_doubt"),
		attribute.Int("hooklatch.attempt", 1),
	})
	require.Equal(t, dispatch.SpanContext.TraceID().String(), b.lines(t, "event dispatched")[0]["trace_id"])
	for i, line := range b.lines(t, "effect attempted") {
		require.Equal(t, attempts[i].SpanContext.TraceID().String(), line["trace_id"])
	}
	for _, span := range spans.GetSpans() {
		for _, attr := range span.Attributes {
			require.Contains(t, string(attr.Key), ".", "attributes of %s have a namespace", span.Name)
		}
	}
}

func TestReplayBeginsATraceOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spans := b.traced()
	b.to(t, failing(0))
	b.accept(t, "evt_1", false)
	events := b.start(t, b.worker(t))
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	spans.Reset()

	_, err := b.outbox.Inbox().Replay(t.Context(), identity.EventRef{Source: testSource, EventID: "evt_1"},
		ledger.Operator{Who: "ann", Via: "test"}, inbox.ReplayOptions{NewKeys: true})
	require.NoError(t, err)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	dispatch := spansOf(spans, "process dispatch")[0]
	requireRoot(t, dispatch, received(t))
	requireChild(t, spansOf(spans, "process effect")[0], dispatch.SpanContext)
}

func TestWorkAnHourLaterBeginsATraceOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spans := b.traced()
	b.to(t, failing(0))
	b.accept(t, "evt_1", false)
	b.age(t, "evt_1", traceFor+time.Minute)
	b.accept(t, "evt_2", false)
	b.age(t, "evt_2", traceFor-time.Minute)
	events := b.start(t, b.worker(t))
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)

	dispatches := map[string]tracetest.SpanStub{}
	for _, span := range spansOf(spans, "process dispatch") {
		dispatches[eventOf(span)] = span
	}
	requireRoot(t, dispatches["evt_1"], received(t))
	requireChild(t, dispatches["evt_2"], received(t))
	attempts := spansOf(spans, "process effect")
	require.Len(t, attempts, 2)
	for _, attempt := range attempts {
		if eventOf(attempt) == "evt_1" {
			requireRoot(t, attempt, dispatches["evt_1"].SpanContext)
			continue
		}
		requireChild(t, attempt, dispatches["evt_2"].SpanContext)
	}
}

func eventOf(span tracetest.SpanStub) string {
	for _, attr := range span.Attributes {
		if attr.Key == "hooklatch.event_id" {
			return attr.Value.AsString()
		}
	}
	return ""
}

// age makes an event older by the given time, at most a day.
func (b *bundle) age(t *testing.T, id string, by time.Duration) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `WITH aged AS (
			UPDATE hooklatch.processed_events SET received_at = received_at - make_interval(secs => $2) WHERE event_id = $1
			RETURNING delivery_id, received_at
		)
		UPDATE hooklatch.deliveries AS d SET received_at = aged.received_at FROM aged WHERE d.delivery_id = aged.delivery_id`, id, by.Seconds())
	require.NoError(t, err)
}

func (b *bundle) effects(t *testing.T) []ledger.Effect {
	t.Helper()
	found, err := b.outbox.Finder().Effects(t.Context(), find.Effects{}, find.Beginning, 100)
	require.NoError(t, err)
	return found.Rows
}

func TestStatementIsASpanOfItsAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spans := b.traced()
	b.books(t, "")
	_, err := b.pool.Exec(t.Context(), `ALTER TABLE public.credits ADD CONSTRAINT small CHECK (cents < 5)`)
	require.NoError(t, err)
	_, err = b.outbox.Accept(t.Context(), outbox.Delivery{
		Source: testSource, Provider: "stripe", Body: []byte(`{"cents":5,"tags":null}`),
		Events: []outbox.Incoming{{ID: "evt_1", Type: "invoice.paid"}},
	})
	require.NoError(t, err)
	events := b.start(t, b.worker(t))
	next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)

	call := spansOf(spans, "SQL books")[0]
	attempt := spansOf(spans, "process effect")[0]
	requireChild(t, call, attempt.SpanContext)
	require.Subset(t, call.Attributes, []attribute.KeyValue{
		attribute.String("db.system.name", "postgresql"),
		attribute.String("db.query.summary", "credit"),
		attribute.String("db.response.status_code", "23514"),
		attribute.String("hooklatch.destination", "books"),
	})
	require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "23514"}, call.Status)
	require.Equal(t, attempt.SpanContext.TraceID().String(), b.lines(t, "effect attempted")[0]["trace_id"])
}

func TestEnqueuedEffectIsLinkedToTheTraceOfTheApplication(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spans := b.traced()
	b.to(t, failing(0))
	events := b.start(t, b.worker(t))
	ctx, span := b.opts.TracerProvider.Tracer("shop").Start(t.Context(), "take order")
	require.NoError(t, pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		_, err := b.outbox.EnqueueTx(ctx, tx, outbox.Enqueue{Key: "order-1", Destination: "app"})
		return err
	}))
	span.End()
	next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	requireRoot(t, spansOf(spans, "process effect")[0], span.SpanContext())
}
