package app

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// countDeprecated registers the metric that counts the deprecated keys in the configuration file.
func (a *App) countDeprecated() error {
	_, err := a.telemetry.MeterProvider.Meter(meterName).Int64ObservableGauge("hooklatch.config.deprecated", metric.WithUnit("{key}"),
		metric.WithDescription("Deprecated keys in the configuration file. A later version refuses them."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(len(a.config.Load().Deprecated())))
			return nil
		}))
	if err != nil {
		return fmt.Errorf("metric of deprecated keys: %w", err)
	}
	return nil
}
