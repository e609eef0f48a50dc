// Package instrument creates one meter's instruments and collects all their errors.
package instrument

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// Maker creates instruments. An instrument that could not be created does nothing; Err returns
// the reason.
type Maker struct {
	meter    metric.Meter
	asked    []asked
	gathered []*Gathered
	errs     []error
}

// asked is an instrument, and the function that returns its current value.
type asked struct {
	instrument metric.Int64Observable
	value      func() int64
}

// NewMaker returns a Maker for a meter's instruments.
func NewMaker(meter metric.Meter) *Maker { return &Maker{meter: meter} }

// Counter creates a counter for whole numbers.
func (m *Maker) Counter(name, unit, description string) metric.Int64Counter {
	c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.errs = append(m.errs, err)
	return c
}

// Gathered creates a counter for frequent events.
func (m *Maker) Gathered(name, unit, description string) *Gathered {
	g := &Gathered{counter: m.Counter(name, unit, description), counts: map[*Labels]int64{}}
	m.gathered = append(m.gathered, g)
	return g
}

// Seconds creates a histogram of durations with these bounds.
func (m *Maker) Seconds(name, description string, bounds ...float64) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(bounds...))
	m.errs = append(m.errs, err)
	return h
}

// Level creates an up-down counter. Whenever metrics are read, the counter calls the function value
// for the current amount.
func (m *Maker) Level(name, unit, description string, value func() int64) {
	l, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.asked, m.errs = append(m.asked, asked{l, value}), append(m.errs, err)
}

// Total creates a counter. Whenever metrics are read, the counter calls the function value for the
// total so far.
func (m *Maker) Total(name, unit, description string, value func() int64) {
	t, err := m.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.asked, m.errs = append(m.asked, asked{t, value}), append(m.errs, err)
}

// Observe reads levels and totals and reports gathered counters whenever metrics are read, until
// the caller calls Unregister. It needs at least one level or total: for gathered counters alone,
// OpenTelemetry would not call the callback.
func (m *Maker) Observe() metric.Registration {
	instruments := make([]metric.Observable, 0, len(m.asked))
	for _, a := range m.asked {
		instruments = append(instruments, a.instrument)
	}
	asking, err := m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		for _, g := range m.gathered {
			g.tell(ctx)
		}
		for _, a := range m.asked {
			o.ObserveInt64(a.instrument, a.value())
		}
		return nil
	}, instruments...)
	m.errs = append(m.errs, err)
	return registration{asking, m.gathered}
}

// Err returns the errors of all instruments created so far.
func (m *Maker) Err() error { return errors.Join(m.errs...) }
