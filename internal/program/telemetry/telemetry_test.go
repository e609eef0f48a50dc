package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/leaks"
	"github.com/hooklatch/hooklatch/internal/program/telemetry"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

// quietEnvironment empties the OpenTelemetry variables of the machine's environment.
func quietEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER",
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_TRACES_SAMPLER",
	} {
		t.Setenv(name, "")
	}
}

func start(t *testing.T) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), telemetry.Options{ServiceName: "hooklatch", Version: "v1.2.3"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tel.Stop(context.WithoutCancel(t.Context()))) })
	return tel
}

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, recorder.Code)
	return recorder.Body.String()
}

func TestPrometheus(t *testing.T) { //nolint:paralleltest // sets the environment of the process, or its globals
	quietEnvironment(t)
	tel := start(t)
	meter := tel.MeterProvider.Meter("test")
	counter, err := meter.Int64Counter("hooklatch.deliveries", metric.WithUnit("{delivery}"))
	require.NoError(t, err)
	counter.Add(t.Context(), 3)
	seconds, err := meter.Float64Histogram("hooklatch.accept.duration", metric.WithUnit("s"))
	require.NoError(t, err)
	seconds.Record(t.Context(), 0.002)
	own := tel.MeterProvider.Meter("github.com/hooklatch/hooklatch/gateway")
	duration, err := own.Float64Histogram("hooklatch.effect.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(30, 60))
	require.NoError(t, err)
	duration.Record(t.Context(), 45)
	delay, err := own.Float64Histogram("hooklatch.duplicate.delay", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(86400))
	require.NoError(t, err)
	delay.Record(t.Context(), 90000)

	text := scrape(t, tel)
	require.Contains(t, text, "hooklatch_deliveries_total 3\n")
	require.Contains(t, text, `hooklatch_accept_duration_seconds_bucket{le="0.001"} 0`)
	require.Contains(t, text, `hooklatch_accept_duration_seconds_bucket{le="0.0025"} 1`)
	require.Contains(t, text, `hooklatch_accept_duration_seconds_bucket{le="10`)
	require.Contains(t, text, `hooklatch_duplicate_delay_seconds_bucket{le="86400`)
	require.Contains(t, text, `hooklatch_effect_duration_seconds_bucket{le="60`, "the module's own histograms keep their buckets")
	require.NotContains(t, text, `hooklatch_duplicate_delay_seconds_bucket{le="0.001"}`)
	require.Contains(t, text, `service_name="hooklatch"`)
	require.Contains(t, text, `service_version="v1.2.3"`)
	require.Contains(t, text, "go_goroutines ")
	require.Contains(t, text, "process_start_time_seconds ")
}

func TestARestartContinuesTheSeries(t *testing.T) { //nolint:paralleltest // sets the environment of the process, or its globals
	quietEnvironment(t)
	info := func(listen string) string {
		tel, err := telemetry.Start(t.Context(), telemetry.Options{ServiceName: "hooklatch", Instance: listen})
		require.NoError(t, err)
		defer func() { require.NoError(t, tel.Stop(context.WithoutCancel(t.Context()))) }()
		for line := range strings.Lines(scrape(t, tel)) {
			if strings.HasPrefix(line, "target_info{") {
				return line
			}
		}
		return ""
	}
	first := info("127.0.0.1:8081")
	require.Contains(t, first, `service_instance_id="`)
	require.Equal(t, first, info("127.0.0.1:8081"))
	require.NotEqual(t, first, info("127.0.0.1:9081"), "another process of this host")
	require.NotContains(t, first, "process_pid", "a process id makes a new series of each restart")
}

func TestNothingIsExportedUnasked(t *testing.T) { //nolint:paralleltest // sets the environment of the process, or its globals
	quietEnvironment(t)
	var logs bytes.Buffer
	tel, err := telemetry.Start(t.Context(), telemetry.Options{
		ServiceName: "hooklatch", Logger: slog.New(slog.NewTextHandler(&logs, nil)),
	})
	require.NoError(t, err)
	_, span := tel.TracerProvider.Tracer("test").Start(t.Context(), "work")
	require.False(t, span.IsRecording())
	span.End()
	require.NoError(t, tel.Stop(t.Context()))
	require.NoError(t, tel.Stop(t.Context()), "Stop may be called again")
	require.Empty(t, logs.String())
}

// collector accepts OTLP over HTTP and stores the bodies by path.
type collector struct {
	mu     sync.Mutex
	bodies map[string][]byte
}

func newCollector(t *testing.T) (*collector, string) {
	t.Helper()
	c := &collector{bodies: make(map[string][]byte)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies[r.URL.Path] = append(c.bodies[r.URL.Path], body...)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	return c, server.URL
}

// got returns all bodies sent to path, as protobuf, which contains strings unchanged.
func (c *collector) got(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.bodies[path])
}

func TestOTLP(t *testing.T) {
	tests := []struct {
		name            string
		env             map[string]string
		traces, metrics bool
	}{
		{"endpoint alone", nil, true, true},
		{"no metrics", map[string]string{"OTEL_METRICS_EXPORTER": "none"}, true, false},
		{"metrics for Prometheus only", map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, true, false},
		{"no traces", map[string]string{"OTEL_TRACES_EXPORTER": "none"}, false, true},
		{"disabled", map[string]string{"OTEL_SDK_DISABLED": "true"}, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			quietEnvironment(t)
			received, url := newCollector(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
			t.Setenv("OTEL_SERVICE_NAME", "renamed")
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			tel := start(t)
			_, span := tel.TracerProvider.Tracer("test").Start(t.Context(), "receive stripe")
			span.End()
			counter, err := tel.MeterProvider.Meter("test").Int64Counter("hooklatch.deliveries")
			require.NoError(t, err)
			counter.Add(t.Context(), 1)
			require.Contains(t, scrape(t, tel), "hooklatch_deliveries_total 1\n", "Prometheus metrics are always served")
			require.NoError(t, tel.Stop(t.Context()), "flushes")

			traces, metrics := received.got("/v1/traces"), received.got("/v1/metrics")
			if test.traces {
				require.Contains(t, traces, "receive stripe")
				require.Contains(t, traces, "renamed", "the environment overrides the options")
			} else {
				require.Empty(t, traces)
			}
			if test.metrics {
				require.Contains(t, metrics, "hooklatch.deliveries")
			} else {
				require.Empty(t, metrics)
			}
		})
	}
}

func TestErrorsNameTheVariable(t *testing.T) {
	tests := []struct{ variable, value string }{
		{"OTEL_TRACES_EXPORTER", "carrier-pigeon"},
		{"OTEL_METRICS_EXPORTER", "carrier-pigeon"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "morse"},
	}
	for _, test := range tests {
		t.Run(test.variable, func(t *testing.T) {
			quietEnvironment(t)
			if test.value == "morse" {
				t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
			}
			t.Setenv(test.variable, test.value)
			_, err := telemetry.Start(t.Context(), telemetry.Options{ServiceName: "hooklatch"})
			require.ErrorContains(t, err, test.variable)
			require.ErrorContains(t, err, test.value)
		})
	}
	_, err := telemetry.Start(t.Context(), telemetry.Options{})
	require.ErrorContains(t, err, "ServiceName is required")
}

func TestGlobalsAreSetOnlyOnRequest(t *testing.T) { //nolint:paralleltest // sets the environment of the process, or its globals
	quietEnvironment(t)
	tracers, meters := otel.GetTracerProvider(), otel.GetMeterProvider()
	tel := start(t)
	require.Same(t, tracers, otel.GetTracerProvider())
	require.Same(t, meters, otel.GetMeterProvider())
	tel.SetGlobal()
	t.Cleanup(func() {
		otel.SetTracerProvider(tracers)
		otel.SetMeterProvider(meters)
	})
	require.Equal(t, tel.TracerProvider, otel.GetTracerProvider())
	require.Equal(t, tel.MeterProvider, otel.GetMeterProvider())
	require.ElementsMatch(t, []string{"traceparent", "tracestate", "baggage"}, otel.GetTextMapPropagator().Fields())
}
