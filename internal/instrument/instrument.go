// Package instrument creates the instruments of one meter, and reports at once what was
// wrong with any of them.
package instrument

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// Maker makes instruments. One that could not be made does nothing; Err says why.
type Maker struct {
	meter    metric.Meter
	asked    []asked
	gathered []*Gathered
	errs     []error
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

// Gathered makes a counter of whole things of which there are many.
func (m *Maker) Gathered(name, unit, description string) *Gathered {
	g := &Gathered{counter: m.Counter(name, unit, description), counts: map[*Labels]int64{}}
	m.gathered = append(m.gathered, g)
	return g
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

// Observe lets the levels and totals ask whenever metrics are read, and what is gathered
// be told then, until the registration ends. There must be a level or a total: what
// only gathers is not asked.
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

// Err is what was wrong with the instruments made so far.
func (m *Maker) Err() error { return errors.Join(m.errs...) }
