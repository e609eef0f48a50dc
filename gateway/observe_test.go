package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// counts returns a counter's sums by its attributes, written "k=v,k=v".
func (b *testBundle) counts(t *testing.T, name string) map[string]int64 {
	t.Helper()
	sums := make(map[string]int64)
	sum, ok := b.metric(t, name).(metricdata.Sum[int64])
	require.True(t, ok, "%s is not a counter", name)
	for _, point := range sum.DataPoints {
		if point.Value == 0 && point.Attributes.Len() > 0 {
			continue // the counter was initialized, and nothing was counted
		}
		sums[point.Attributes.Encoded(attribute.DefaultEncoder())] = point.Value
	}
	return sums
}

func (b *testBundle) metric(t *testing.T, name string) metricdata.Aggregation {
	t.Helper()
	var collected metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(t.Context(), &collected))
	for _, scope := range collected.ScopeMetrics {
		require.Equal(t, "github.com/hooklatch/hooklatch/gateway", scope.Scope.Name)
		for _, m := range scope.Metrics {
			if m.Name == name {
				return m.Data
			}
		}
	}
	require.Fail(t, "no such metric", name)
	return nil
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.post(t, "orders", `{"events":[{"id":"a","type":"x"},{"id":"b","type":"x"}]}`)
	b.post(t, "orders", `{"id":"a","type":"x"}`)
	b.post(t, "orders", `{"events":[]}`)
	b.post(t, "orders", `{}`)
	b.post(t, "orders", `{}`, func(r *http.Request) { r.Header.Del("X-Signature") })
	for i := range 3 {
		b.post(t, fmt.Sprintf("made-up-%d", i), `{}`)
	}
	require.Equal(t, map[string]int64{
		"provider=signer,result=accepted,source=orders":           1,
		"provider=signer,result=duplicate,source=orders":          1,
		"provider=signer,result=empty,source=orders":              1,
		"provider=signer,result=invalid,source=orders":            1,
		"provider=signer,result=rejected,source=orders":           1,
		"provider=_unknown,result=unknown_source,source=_unknown": 3,
	}, b.counts(t, "hooklatch.deliveries"))
	require.Equal(t, map[string]int64{"source=orders": 2}, b.counts(t, "hooklatch.events.accepted"))
	require.Equal(t, map[string]int64{"source=orders": 1}, b.counts(t, "hooklatch.duplicates"))
	b.post(t, "orders", `{"events":[{"id":"c","type":"unknown"},{"id":"d","type":"unknown.post"},{"id":"e","type":"x"}]}`)
	require.Equal(t, map[string]int64{"source=orders": 2}, b.counts(t, "hooklatch.events.untyped"))
	require.Equal(t, map[string]int64{
		"reason=missing_signature,source=orders": 1,
		"reason=no_usable_event,source=orders":   1,
		"reason=unknown_source,source=_unknown":  3,
	}, b.counts(t, "hooklatch.rejected"))
	require.Equal(t, map[string]int64{"": 0}, b.counts(t, "hooklatch.inflight"))
	durations, ok := b.metric(t, "hooklatch.accept.duration").(metricdata.Histogram[float64])
	require.True(t, ok)
	require.Len(t, durations.DataPoints, 6)
	delays, ok := b.metric(t, "hooklatch.duplicate.delay").(metricdata.Histogram[float64])
	require.True(t, ok)
	require.EqualValues(t, 1, delays.DataPoints[0].Count)
}

func TestInFlightIsMeasured(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	entered, release := b.held(t)
	done := make(chan answer, 1)
	go func() { done <- b.post(t, "orders", `{"id":"a","type":"x"}`) }()
	<-entered
	require.Equal(t, map[string]int64{"": 1}, b.counts(t, "hooklatch.inflight"))
	release()
	<-done
}

func TestSpan(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	const sender = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	b.post(t, "orders", `{"id":"a","type":"x"}`, func(r *http.Request) { r.Header.Set("Traceparent", sender) })
	b.post(t, "orders", `{"id":"a"}`, func(r *http.Request) { r.Header.Set("X-Signature", "00") })
	b.accepter.before = func(context.Context, outbox.Delivery) error { return outbox.ErrUnavailable }
	b.post(t, "orders", `{"id":"b","type":"x"}`)
	b.post(t, "nobody", `{}`)

	spans := b.spans.Ended()
	require.Len(t, spans, 3, "an unknown source has no span")
	span := spans[0]
	require.Equal(t, "receive orders", span.Name())
	require.Equal(t, trace.SpanKindServer, span.SpanKind())
	require.False(t, span.Parent().IsValid(), "a sender's span is never the parent")
	require.NotEqual(t, "0af7651916cd43dd8448eb211c80319c", span.SpanContext().TraceID().String())
	require.Len(t, span.Links(), 1)
	require.Equal(t, "b7ad6b7169203331", span.Links()[0].SpanContext.SpanID().String())
	require.Subset(t, span.Attributes(), []attribute.KeyValue{
		attribute.String("messaging.operation.type", "receive"),
		attribute.String("messaging.destination.name", "orders"),
		attribute.String("messaging.message.id", "a"),
		attribute.Int("messaging.message.body.size", 21),
		attribute.Int("http.response.status_code", 200),
		attribute.String("hooklatch.provider", "signer"),
		attribute.String("hooklatch.source", "orders"),
		attribute.String("hooklatch.outcome", "accepted"),
		attribute.String("http.request.method", "POST"),
		attribute.String("http.route", "/webhooks/{source}"),
		attribute.String("url.scheme", "http"),
		attribute.String("url.path", "/webhooks/orders"),
	})
	own := span.SpanContext()
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", own.TraceID(), own.SpanID()), b.accepter.all()[0].Traceparent)
	require.Equal(t, codes.Unset, spans[1].Status().Code, "a forgery is not our error")
	require.Equal(t, codes.Error, spans[2].Status().Code)
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.accepter.first[identity.EventRef{Source: "orders", EventID: "late"}] = testNow.Add(-90 * time.Minute)
	b.post(t, "orders", `{"events":[{"id":"a","type":"x\n\u001b[31m"},{"id":"late","type":"y"}]}`)
	b.post(t, "orders", `{"id":"a"}`, func(r *http.Request) { r.Header.Del("X-Signature"); r.URL.RawQuery = "token=hidden" })
	b.post(t, strings.Repeat("y", 4000), `{}`, func(r *http.Request) { r.URL.RawQuery = "token=hidden" })

	accepted := b.logs.lines(t, "event accepted")
	require.Len(t, accepted, 1)
	for key, value := range map[string]any{
		"source": "orders", "provider": "signer", "event_id": "a", "event_type": "x\n\x1b[31m", "status": "accepted",
	} {
		require.Equal(t, value, accepted[0][key], key)
	}
	duplicate := b.logs.lines(t, "duplicate received")
	require.Len(t, duplicate, 1)
	require.Equal(t, "late", duplicate[0]["event_id"])
	require.InDelta(t, 5400.0, duplicate[0]["late_s"], 0)
	refused := b.logs.lines(t, "delivery refused")
	require.Len(t, refused, 2)
	require.Equal(t, "missing_signature", refused[0]["reason"])
	require.Equal(t, "127.0.0.1", refused[0]["remote"])
	require.Equal(t, "unknown_source", refused[1]["reason"])
	require.Len(t, refused[1]["path"], 100)
	require.NotContains(t, b.logs.String(), "hidden", "the query string is not logged")
	require.NotContains(t, b.logs.String(), "\x1b")
}

func TestRefusalsCannotFloodTheLog(t *testing.T) {
	t.Parallel()
	now := make(chan time.Time, 1)
	now <- testNow
	clock := func() time.Time {
		at := <-now
		now <- at
		return at
	}
	b := setup(t, func(o *gateway.Options) { o.Now = clock })
	refuse := func() {
		got := b.post(t, "orders", `{}`, func(r *http.Request) { r.Header.Del("X-Signature") })
		require.Equal(t, http.StatusUnauthorized, got.status)
	}
	for range 100 {
		refuse()
	}
	require.Len(t, b.logs.lines(t, "delivery refused"), 20)
	require.Equal(t, int64(100), b.counts(t, "hooklatch.rejected")["reason=missing_signature,source=orders"], "the metric counts suppressed lines too")

	b.accepter.before = func(context.Context, outbox.Delivery) error { return outbox.ErrUnavailable }
	b.post(t, "orders", `{"id":"a","type":"x"}`)
	require.Len(t, b.logs.lines(t, "delivery not accepted"), 1, "the flood does not hide our own faults")

	<-now
	now <- testNow.Add(time.Second)
	refuse()
	lines := b.logs.lines(t, "delivery refused")
	require.Len(t, lines, 21)
	require.EqualValues(t, 80, lines[20]["count"], "the line reports how many were suppressed")

	for range 20 {
		refuse()
	}
	require.NoError(t, b.gateway.Stop(t.Context()))
	require.Len(t, b.logs.lines(t, "log lines about refused deliveries suppressed"), 1)
}

// The secret, and any header that carries it, never leaves the gateway (I12).
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	p := signer()
	b := setup(t, func(o *gateway.Options) { o.Sources = []gateway.Source{source("orders", p)} })
	carry := func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+testSecret)
		r.Header.Set("Cookie", "session="+testSecret)
		r.Header.Set("X-Api-Token", testSecret)
		r.URL.RawQuery = "token=" + testSecret
	}
	var answers []answer
	for _, body := range []string{`{"id":"a","type":"x"}`, `{"id":"a","type":"x"}`, `nonsense`, `{}`, `{"events":[]}`} {
		answers = append(answers, b.post(t, "orders", body, carry))
	}
	for _, spoil := range []func(*http.Request){
		func(r *http.Request) { r.Header.Del("X-Signature") },
		func(r *http.Request) { r.Header.Set("X-Signature", testSecret) },
		func(r *http.Request) { r.Method = http.MethodGet },
		func(r *http.Request) { r.Header.Set("Content-Encoding", testSecret) },
		func(r *http.Request) { r.URL.Path = "/webhooks/nobody" },
		func(r *http.Request) { r.URL.Path = "/elsewhere" },
	} {
		answers = append(answers, b.post(t, "orders", `{"id":"a"}`, carry, spoil))
	}
	b.accepter.before = func(context.Context, outbox.Delivery) error { panic(testSecret) }
	answers = append(answers, b.post(t, "orders", `{"id":"b","type":"x"}`, carry))

	for _, got := range answers {
		require.NotContains(t, got.body, testSecret)
		require.NotContains(t, fmt.Sprint(got.header), testSecret)
	}
	require.NotContains(t, b.logs.String(), testSecret)
	for _, span := range b.spans.Ended() {
		require.NotContains(t, fmt.Sprint(span.Attributes(), span.Status(), span.Events()), testSecret)
	}
	var collected metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(t.Context(), &collected))
	require.NotContains(t, fmt.Sprintf("%+v", collected), testSecret)
	for _, d := range b.accepter.all() {
		stored, err := json.Marshal(d)
		require.NoError(t, err)
		require.NotContains(t, string(stored), testSecret)
	}
}

func TestAStormOfDuplicatesHasFewLinesOfTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for range 1100 {
		require.Equal(t, http.StatusOK, b.post(t, "orders", `{"id":"a","type":"x"}`).status)
	}
	require.Len(t, b.logs.lines(t, "duplicate received"), 1000, "the burst limit for duplicates")
	require.Equal(t, map[string]int64{"source=orders": 1099}, b.counts(t, "hooklatch.duplicates"), "the metric counts suppressed lines too")

	require.NoError(t, b.gateway.Stop(t.Context()))
	lines := b.logs.lines(t, "log lines about duplicates suppressed")
	require.Len(t, lines, 1)
	require.EqualValues(t, 99, lines[0]["count"])
	require.Empty(t, b.logs.lines(t, "log lines about refused deliveries suppressed"))
}
