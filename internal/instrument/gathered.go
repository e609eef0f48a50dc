package instrument

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Labels are attributes that are made once for many measurements.
type Labels struct{ metric.MeasurementOption }

// NewLabels makes labels of attributes.
func NewLabels(attributes ...attribute.KeyValue) *Labels {
	return &Labels{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}

// Gathered is a counter of what happens often: it counts in memory and tells
// OpenTelemetry whenever metrics are read, which would take it longer for each. It is
// safe for concurrent use.
type Gathered struct {
	counter metric.Int64Counter

	mu     sync.Mutex
	counts map[*Labels]int64 // since metrics were read last
}

// Add counts n more.
func (g *Gathered) Add(n int64, as *Labels) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts[as] += n
}

// tell hands over what was gathered.
func (g *Gathered) tell(ctx context.Context) {
	g.mu.Lock()
	counts := g.counts
	g.counts = make(map[*Labels]int64, len(counts))
	g.mu.Unlock()
	for as, n := range counts {
		g.counter.Add(ctx, n, as)
	}
}

// registration tells what was gathered before it ends.
type registration struct {
	metric.Registration

	gathered []*Gathered
}

// Unregister implements metric.Registration.
func (r registration) Unregister() error {
	err := r.Registration.Unregister()
	for _, g := range r.gathered {
		g.tell(context.Background())
	}
	return err
}
