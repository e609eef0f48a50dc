package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/instrument"
	"github.com/hooklatch/hooklatch/outbox/measure"
)

// result is a request's outcome, used as a metric label.
type result string

// A request has exactly one of these results.
const (
	resultAccepted      result = "accepted"       // at least one event was new
	resultDuplicate     result = "duplicate"      // every event is a duplicate
	resultEmpty         result = "empty"          // verified, but without an event
	resultHandshake     result = "handshake"      // the sender's endpoint check was answered
	resultRejected      result = "rejected"       // not authenticated: 401
	resultInvalid       result = "invalid"        // unreadable, without a usable event, or an unwanted test event: 400, 422
	resultIncomplete    result = "incomplete"     // the body did not arrive completely: 400, 503
	resultTooLarge      result = "too_large"      // 413
	resultEncoding      result = "encoding"       // 415
	resultMethod        result = "method"         // 405
	resultUnknownSource result = "unknown_source" // 404
	resultUnread        result = "unread"         // a request that net/http refused, such as a malformed one: 400, 431, ...
	resultUnavailable   result = "unavailable"    // 503: overload, no database, a drain or another temporary fault
	resultFault         result = "fault"          // 500: a bug in Hooklatch
)

// noSource is the label for all requests to unknown sources. Their names are not labels, because a
// client can choose any name. No configured name begins with an underscore.
const noSource = measure.Unknown

func sourceLabels(source, kind string) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("source", source), attribute.String("provider", kind)}
}

// countedAs holds one source's label sets, built once for all its deliveries.
type countedAs struct {
	source  *instrument.Labels
	results map[result]*instrument.Labels
	secrets []*instrument.Labels // by the secret's position in the configuration, never by its value
}

func newCountedAs(labels []attribute.KeyValue, secrets int) countedAs {
	c := countedAs{
		source:  instrument.NewLabels(labels[0]),
		results: make(map[result]*instrument.Labels),
	}
	for i := range secrets {
		c.secrets = append(c.secrets, instrument.NewLabels(labels[0], attribute.String("secret", strconv.Itoa(i+1))))
	}
	for _, r := range []result{
		resultAccepted, resultDuplicate, resultEmpty, resultHandshake, resultRejected, resultInvalid, resultIncomplete,
		resultTooLarge, resultEncoding, resultMethod, resultUnknownSource, resultUnread, resultUnavailable, resultFault,
	} {
		c.results[r] = instrument.NewLabels(append([]attribute.KeyValue{attribute.String("result", string(r))}, labels...)...)
	}
	return c
}

// meters holds one gateway's instruments.
type meters struct {
	deliveries     *instrument.Gathered
	events         *instrument.Gathered
	untyped        *instrument.Gathered
	duplicates     *instrument.Gathered
	rejected       metric.Int64Counter
	replays        metric.Int64Counter
	held           metric.Int64Counter
	retries        metric.Int64Counter
	secretsMatched *instrument.Gathered
	acceptDuration metric.Float64Histogram
	duplicateDelay metric.Float64Histogram

	nowhere  countedAs // labels for requests to unknown sources
	callback metric.Registration
}

// gauges holds the functions that return current values.
type gauges struct {
	inFlight, buffered, connections, refused func() int64
}

func newMeters(meterProvider metric.MeterProvider, now gauges) (*meters, error) {
	in := instrument.NewMaker(meterProvider.Meter(scopeName))
	m := &meters{
		nowhere:    newCountedAs(sourceLabels(noSource, noSource), 0),
		deliveries: in.Gathered("hooklatch.deliveries", "{delivery}", "Requests to sources, by outcome."),
		events:     in.Gathered("hooklatch.events.accepted", "{event}", "Events that were committed for the first time."),
		untyped: in.Gathered("hooklatch.events.untyped", "{event}",
			"Events that were committed for the first time with an unknown type: the delivery contained no readable type."),
		duplicates: in.Gathered("hooklatch.duplicates", "{event}", "Duplicate events."),
		rejected:   in.Counter("hooklatch.rejected", "{delivery}", "Requests that were not answered 2xx, by reason."),
		replays: in.Counter("hooklatch.replays", "{delivery}",
			"Deliveries with new ids under a signature that was already seen: accepted as suspect, held or refused."),
		held:    in.Counter("hooklatch.events.held", "{event}", "Events that a replay guard held until an operator decides."),
		retries: in.Counter("hooklatch.provider.retries", "{delivery}", "Verified deliveries that their sender marks as a retry, by its reason."),
		secretsMatched: in.Gathered("hooklatch.secrets.matched", "{delivery}",
			"Verified deliveries, by the position of the matching secret in the configuration."),
		acceptDuration: in.Seconds("hooklatch.accept.duration", "Time from the header of a request to its response, including the time the sender takes to send the body.",
			0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
		duplicateDelay: in.Seconds("hooklatch.duplicate.delay", "Time from the first delivery of an event to a duplicate.",
			0.1, 1, 5, 30, 60, 300, 1800, 3600, 14400, 86400, 259200, 604800, 2592000),
	}
	in.Level("hooklatch.inflight", "{delivery}", "Deliveries being read, committed or answered.", now.inFlight)
	in.Level("hooklatch.buffered", "By",
		"Memory reserved for bodies beyond the first 64 KiB of each; gateway.max_buffered is its limit.", now.buffered)
	in.Level("hooklatch.connections", "{connection}", "Open connections.", now.connections)
	in.Total("hooklatch.connections.refused", "{connection}",
		"Connections that were closed immediately because too many were open.", now.refused)
	m.callback = in.Observe()
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("gateway: make metrics: %w", err)
	}
	return m, nil
}

// begin initializes to 0 the counters that reveal a wrong secret. Prometheus uses a counter's
// first value as its start, so it would otherwise miss a burst of refusals right after the
// start of the gateway.
func (m *meters) begin(source string) {
	for _, reason := range []provider.Reason{provider.ReasonMissingSignature, provider.ReasonWrongSignature, provider.ReasonMissingToken, provider.ReasonWrongToken} {
		m.rejected.Add(context.Background(), 0, rejectedAs(source, string(reason)))
	}
}

func rejectedAs(source, reason string) metric.AddOption {
	return metric.WithAttributes(attribute.String("source", source), attribute.String("reason", reason))
}

func (m *meters) answered(ctx context.Context, as countedAs, r result, took time.Duration) {
	labels := as.results[r]
	m.deliveries.Add(1, labels)
	m.acceptDuration.Record(ctx, took.Seconds(), labels)
}

func (m *meters) refused(ctx context.Context, src *source, r *refusal, took time.Duration) {
	as, name := m.nowhere, noSource
	if src != nil {
		as, name = src.counted, src.Name
	}
	m.answered(ctx, as, r.result, took)
	m.rejected.Add(ctx, 1, rejectedAs(name, r.reason))
}

// proven counts a verified request by the secret that verified it and, if it is a retry, by the
// reason for the retry. The parameter position is the secret's position, or -1 without a secret.
func (m *meters) proven(ctx context.Context, src *source, position int, retry provider.RetryInfo) {
	if position >= 0 && position < len(src.counted.secrets) {
		m.secretsMatched.Add(1, src.counted.secrets[position])
	}
	if retry.Number > 0 {
		labels := append([]attribute.KeyValue{attribute.String("reason", retryReason(retry.Reason))}, src.labels...)
		m.retries.Add(ctx, 1, metric.WithAttributes(labels...))
	}
}

// stop unregisters the callback, because the meter provider outlives the gateway.
func (m *meters) stop() error { return m.callback.Unregister() }
