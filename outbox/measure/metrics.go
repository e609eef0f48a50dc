package measure

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// meterName is the scope of Hooklatch's metrics.
const meterName = "github.com/hooklatch/hooklatch/outbox"

// observe reports one value of a gauge.
type observe func(value float64, labels ...attribute.KeyValue)

// gauge describes a metric. The function values reports the metric's values in a Snapshot.
type gauge struct {
	name, unit, description string

	values func(s *Snapshot, tell observe)
}

// exporter collects gauges, and the errors of their creation, for export.
type exporter struct {
	meter       metric.Meter
	gauges      []gauge
	instruments []metric.Float64ObservableGauge
	errs        []error
}

// Gauge creates a gauge that calls values each time the metrics are read.
func (e *exporter) Gauge(name, unit, description string, values func(s *Snapshot, tell observe)) {
	made, err := e.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	e.gauges = append(e.gauges, gauge{name, unit, description, values})
	e.instruments, e.errs = append(e.instruments, made), append(e.errs, err)
}

// export registers the gauges. Whenever metrics are read, the gauges report the snapshot that show
// returns, or nothing if show returns nil.
func export(provider metric.MeterProvider, sizeBudget int64, show func() *Snapshot) (metric.Registration, error) {
	e := &exporter{meter: provider.Meter(meterName)}
	e.effects()
	e.events()
	e.sources()
	e.lists()
	e.destinations()
	e.database(sizeBudget)
	observables := make([]metric.Observable, 0, len(e.instruments))
	for _, made := range e.instruments {
		observables = append(observables, made)
	}
	registration, err := e.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := show()
		if s == nil {
			return nil
		}
		for i, made := range e.instruments {
			e.gauges[i].values(s, func(value float64, labels ...attribute.KeyValue) {
				o.ObserveFloat64(made, value, metric.WithAttributes(labels...))
			})
		}
		return nil
	}, observables...)
	return registration, errors.Join(append(e.errs, err)...)
}

// The following functions return the labels of gauges.

func ofDestination(name string) attribute.KeyValue { return attribute.String("destination", name) }

func ofSource(name string) attribute.KeyValue { return attribute.String("source", name) }

func inState(state string) attribute.KeyValue { return attribute.String("state", state) }

// yes returns 1 for true and 0 for false.
func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// ago returns the seconds since a time, at least 0.
func ago(now, since time.Time) float64 { return max(now.Sub(since), 0).Seconds() }
