package instrument

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Labels holds attributes that are built once for many measurements.
type Labels struct{ metric.MeasurementOption }

// NewLabels builds labels from attributes.
func NewLabels(attributes ...attribute.KeyValue) *Labels {
	return &Labels{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}

// Gathered is a counter for frequent events. It counts in memory and reports to OpenTelemetry
// only when metrics are read, because a call for each event would take longer. It is safe for
// concurrent use.
type Gathered struct {
	counter metric.Int64Counter

	mu     sync.Mutex
	counts map[*Labels]int64 // counts since metrics were last read
}

// Add adds n to the count with the labels.
func (g *Gathered) Add(n int64, as *Labels) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts[as] += n
}

// tell reports the gathered counts to OpenTelemetry.
func (g *Gathered) tell(ctx context.Context) {
	g.mu.Lock()
	counts := g.counts
	g.counts = make(map[*Labels]int64, len(counts))
	g.mu.Unlock()
	for as, n := range counts {
		g.counter.Add(ctx, n, as)
	}
}

// registration reports the remaining gathered counts in Unregister.
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
