package backfill

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const scopeName = "github.com/hooklatch/hooklatch/gateway/backfill"

type meters struct {
	events, requests metric.Int64Counter
	throttled        metric.Float64Counter
}

func newMeters(provider metric.MeterProvider) (meters, error) {
	meter := provider.Meter(scopeName)
	events, err1 := meter.Int64Counter("hooklatch.backfill.events",
		metric.WithDescription("Events in provider lists, by result."), metric.WithUnit("{event}"))
	requests, err2 := meter.Int64Counter("hooklatch.backfill.requests",
		metric.WithDescription("Requests to the APIs of providers, by status of the response."), metric.WithUnit("{request}"))
	throttled, err3 := meter.Float64Counter("hooklatch.backfill.throttled",
		metric.WithDescription("Time for which providers asked passes over their lists to pause."), metric.WithUnit("s"))
	return meters{events: events, requests: requests, throttled: throttled}, errors.Join(err1, err2, err3)
}

func (p *pass) attributes(status int) metric.MeasurementOption {
	class := strconv.Itoa(status)
	if status/100 == http.StatusOK/100 {
		class = "2xx"
	}
	return metric.WithAttributes(attribute.String("source", p.source.Name), attribute.String("status", class))
}

// count adds to the metrics what the pass has counted since the last call of count.
func (p *pass) count(ctx context.Context) {
	now := p.run.Counts
	for _, one := range []struct {
		result      string
		now, before int64
	}{
		{"known", now.Known, p.counted.Known}, {"recovered", now.Recovered, p.counted.Recovered}, {"lost", now.Lost, p.counted.Lost},
		{"filtered", now.Filtered, p.counted.Filtered}, {"invalid", now.Invalid, p.counted.Invalid}, {"altered", now.Altered, p.counted.Altered},
		{"unlisted", now.Unlisted, p.counted.Unlisted},
	} {
		if one.now > one.before {
			p.b.meters.events.Add(ctx, one.now-one.before, metric.WithAttributes(attribute.String("source", p.source.Name), attribute.String("result", one.result)))
		}
	}
	p.counted = now
}
