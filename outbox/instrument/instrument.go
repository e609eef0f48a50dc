// Package instrument is responsible for making the instruments of one meter, and
// for reporting at once what was wrong with any of them.
package instrument

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// Maker makes instruments. One that could not be made does nothing; Err says why.
type Maker struct {
	meter metric.Meter
	asked []asked
	errs  []error
}

// asked is an instrument that asks for its value.
type asked struct {
	instrument metric.Int64Observable
	value      func() int64
}

// NewMaker makes the instruments of a meter.
func NewMaker(meter metric.Meter) *Maker { return &Maker{meter: meter} }

// Counter makes a counter of whole things.
func (m *Maker) Counter(name, unit, description string) metric.Int64Counter {
	c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.errs = append(m.errs, err)
	return c
}

// Seconds makes a histogram of lengths of time, with these bounds.
func (m *Maker) Seconds(name, description string, bounds ...float64) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(bounds...))
	m.errs = append(m.errs, err)
	return h
}

// Level makes an instrument that asks how much there is at the moment.
func (m *Maker) Level(name, unit, description string, value func() int64) {
	l, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.asked, m.errs = append(m.asked, asked{l, value}), append(m.errs, err)
}

// Total makes an instrument that asks how much there has been.
func (m *Maker) Total(name, unit, description string, value func() int64) {
	t, err := m.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.asked, m.errs = append(m.asked, asked{t, value}), append(m.errs, err)
}

// Observe lets the levels and totals ask whenever metrics are read, until the
// registration ends.
func (m *Maker) Observe() metric.Registration {
	instruments := make([]metric.Observable, 0, len(m.asked))
	for _, a := range m.asked {
		instruments = append(instruments, a.instrument)
	}
	registration, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, a := range m.asked {
			o.ObserveInt64(a.instrument, a.value())
		}
		return nil
	}, instruments...)
	m.errs = append(m.errs, err)
	return registration
}

// Err is what was wrong with the instruments made so far.
func (m *Maker) Err() error { return errors.Join(m.errs...) }
