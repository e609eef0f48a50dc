// Package telemetry sets up OpenTelemetry for a process: always metrics for Prometheus, and OTLP if
// the standard environment variables request it.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

// exemplarFilterEnv is OpenTelemetry's variable that selects the measurements to keep as exemplars.
const exemplarFilterEnv = "OTEL_METRICS_EXEMPLAR_FILTER"

// Options configure telemetry.
type Options struct {
	// ServiceName is service.name, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES overrides
	// it. Required.
	ServiceName string
	// Version is service.version. It may be empty.
	Version string
	// Instance is an address on which the process listens. It distinguishes this process from
	// others with the same host and name, and stays the same after a restart.
	Instance string
	// Logger logs errors of /metrics and, after SetGlobal, exporter errors. Defaults to a logger
	// that discards everything.
	Logger *slog.Logger
}

// Telemetry contains the OpenTelemetry providers of a process. Its exported fields are never nil.
type Telemetry struct {
	// TracerProvider records nothing unless the environment requests an export of traces.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Propagator propagates W3C trace context and baggage.
	Propagator propagation.TextMapPropagator
	// Metrics serves all metrics in Prometheus's text format.
	Metrics http.Handler

	logger   *slog.Logger
	service  *resource.Resource
	registry *prometheus.Registry
	stop     []func(context.Context) error // Stop calls all of them at once
}

// Start creates the providers. It sets no globals, and uses ctx only until it returns. If an
// environment variable is the cause of an error, the error names the variable.
func Start(ctx context.Context, opts Options) (*Telemetry, error) {
	if opts.ServiceName == "" {
		return nil, errors.New("telemetry: ServiceName is required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Telemetry{
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		logger:     opts.Logger,
	}
	service, err := describe(ctx, opts)
	if err != nil {
		return nil, err
	}
	t.service = service
	if err := t.startTraces(ctx, service); err != nil {
		return nil, err
	}
	if err := t.startMetrics(ctx); err != nil {
		return nil, errors.Join(err, t.Stop(ctx))
	}
	return t, nil
}

// SetGlobal makes the providers, the propagator, the error handler and the logger global, for
// libraries that use OpenTelemetry's globals.
func (t *Telemetry) SetGlobal() {
	otel.SetTracerProvider(t.TracerProvider)
	otel.SetMeterProvider(t.MeterProvider)
	otel.SetTextMapPropagator(t.Propagator)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		t.logger.Warn("telemetry", slog.Any(logkey.Err, err))
	}))
	otel.SetLogger(logr.FromSlogHandler(t.logger.Handler())) // the default logger writes to stderr
}

// Stop exports the remaining data, until ctx is done. Traces and metrics are exported concurrently:
// a collector that hangs on one signal must not use up the time for the other signal. Stop may be
// called again.
func (t *Telemetry) Stop(ctx context.Context) error {
	errs := make([]error, len(t.stop))
	var stopping sync.WaitGroup
	for i, stop := range t.stop {
		stopping.Go(func() { errs[i] = stop(ctx) })
	}
	stopping.Wait()
	t.stop = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop telemetry: %w", err)
	}
	return nil
}

func (t *Telemetry) startTraces(ctx context.Context, service *resource.Resource) error {
	if !asked("TRACES") {
		// Creating no spans is cheaper than creating spans that are not exported.
		t.TracerProvider = noop.NewTracerProvider()
		return nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return fmt.Errorf("telemetry: export traces with %s: %w", given("TRACES"), err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(service))
	t.TracerProvider = provider
	t.stop = append(t.stop, provider.Shutdown)
	return nil
}

func (t *Telemetry) startMetrics(ctx context.Context) (err error) {
	t.registry = prometheus.NewRegistry()
	t.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	t.Metrics = promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{
		ErrorLog:          slog.NewLogLogger(t.logger.Handler(), slog.LevelWarn),
		Registry:          t.registry,
		EnableOpenMetrics: true,
	})
	t.MeterProvider, err = t.newMeterProvider(ctx, t.registry, t.service)
	return err
}

// Cell returns the telemetry of a cell. Its metrics have the label cell, and are exported with the
// metrics of t. It stops when t stops.
func (t *Telemetry) Cell(ctx context.Context, name string) (*Telemetry, error) {
	labelled, err := resource.Merge(t.service, resource.NewSchemaless(attribute.String("hooklatch.cell", name)))
	if err != nil {
		return nil, fmt.Errorf("telemetry: describe cell: %w", err)
	}
	cell := *t
	cell.MeterProvider, err = t.newMeterProvider(ctx, prometheus.WrapRegistererWith(prometheus.Labels{"cell": name}, t.registry), labelled)
	return &cell, err
}

// newMeterProvider returns a MeterProvider that stops with t.
func (t *Telemetry) newMeterProvider(ctx context.Context, registry prometheus.Registerer, service *resource.Resource) (metric.MeterProvider, error) {
	pull, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("telemetry: prometheus exporter: %w", err)
	}
	options := []sdkmetric.Option{
		sdkmetric.WithResource(service),
		sdkmetric.WithReader(pull),
		sdkmetric.WithView(secondsView),
	}
	if asked("METRICS") {
		push, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return nil, fmt.Errorf("telemetry: export metrics with %s: %w", given("METRICS"), err)
		}
		options = append(options, sdkmetric.WithReader(push))
	}
	if !asked("TRACES") && os.Getenv(exemplarFilterEnv) == "" {
		// Exemplars refer to traces. Without traces, each measurement would search for a span that
		// does not exist.
		options = append(options, sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))
	}
	provider := sdkmetric.NewMeterProvider(options...)
	t.stop = append(t.stop, provider.Shutdown)
	return provider, nil
}

// instanceNamespace is the namespace that OpenTelemetry specifies for derived instance ids.
//
// Source: https://opentelemetry.io/docs/specs/semconv/registry/attributes/service/
const instanceNamespace = "4d63009a-8d0f-11ee-aad7-4c796ed8e320"

// instance returns service.instance.id. Unlike a process id, this id stays the same after a
// restart, so that metric series continue.
func instance(opts Options) string {
	host, _ := os.Hostname() // without a host name, the id depends on the service name and the address
	return uuid.NewSHA1(uuid.MustParse(instanceNamespace), []byte(opts.ServiceName+"\n"+host+"\n"+opts.Instance)).String()
}

// describe returns the resource of the service. Environment variables override its attributes.
func describe(ctx context.Context, opts Options) (*resource.Resource, error) {
	attributes := []resource.Option{
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName(opts.ServiceName), semconv.ServiceInstanceID(instance(opts))),
	}
	if opts.Version != "" {
		attributes = append(attributes, resource.WithAttributes(semconv.ServiceVersion(opts.Version)))
	}
	service, err := resource.New(ctx, append(attributes, resource.WithFromEnv())...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: describe this service (OTEL_RESOURCE_ATTRIBUTES): %w", err)
	}
	return service, nil
}

// asked reports whether the environment requests the export of a signal, TRACES or METRICS. Without
// a request, nothing is exported: OpenTelemetry's default, OTLP to localhost, would only log
// errors. Metrics for Prometheus are always served, so the value "prometheus" requests nothing
// more.
//
// Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
func asked(signal string) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch exporter := os.Getenv("OTEL_" + signal + "_EXPORTER"); exporter {
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	case "none":
		return false
	case "prometheus":
		return signal != "METRICS"
	default:
		return true
	}
}

// given lists the variables that selected a signal's exporter, without variables that may contain a
// secret (endpoint, headers).
func given(signal string) string {
	var set []string
	for _, name := range []string{"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if value := os.Getenv(name); value != "" {
			set = append(set, name+"="+strconv.Quote(value))
		}
	}
	return strings.Join(append(set, "OTEL_EXPORTER_OTLP_*"), ", ")
}

// secondsView sets buckets from a millisecond to ten seconds for histograms that other modules
// record in seconds. OpenTelemetry's default buckets are for milliseconds. Hooklatch's own
// instruments declare their buckets.
func secondsView(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	if i.Kind != sdkmetric.InstrumentKindHistogram || i.Unit != "s" || strings.HasPrefix(i.Scope.Name, "github.com/hooklatch/") {
		return sdkmetric.Stream{}, false
	}
	return sdkmetric.Stream{
		Name:        i.Name,
		Description: i.Description,
		Unit:        i.Unit,
		Aggregation: sdkmetric.AggregationExplicitBucketHistogram{
			Boundaries: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
		},
	}, true
}
