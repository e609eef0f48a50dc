package worker

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"

	"github.com/hooklatch/hooklatch/internal/instrument"
)

// labels builds the labels of frequent measurements once, because building them takes longer than
// measuring. It is safe for concurrent use.
type labels struct {
	mu    sync.RWMutex
	built map[label]*instrument.Labels
}

// label identifies the labels of one measurement. The names in the configuration and in the code
// limit how many there are.
type label struct {
	where   string // key of name: attrSource, attrDestination or attrQueue
	name    string
	outcome string // of a run; empty for a measurement without outcome
	first   bool   // true for the first attempt of a run; ignored without outcome
}

// of returns the labels of a measurement.
func (l *labels) of(one label) *instrument.Labels {
	l.mu.RLock()
	built := l.built[one]
	l.mu.RUnlock()
	if built != nil {
		return built
	}
	attributes := []attribute.KeyValue{attribute.String(one.where, one.name)}
	if one.outcome != "" {
		attributes = append(attributes, attribute.String(attrOutcome, one.outcome), attribute.Bool(attrFirstAttempt, one.first))
	}
	built = instrument.NewLabels(attributes...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.built[one] = built
	return built
}
