package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/instrument"
)

// Every attempt takes several measurements, so their labels are not built again for each.
func TestLabelsAreBuiltOnce(t *testing.T) {
	t.Parallel()
	built := labels{built: map[label]*instrument.Labels{}}
	for _, c := range []struct {
		of   label
		want []attribute.KeyValue
	}{
		{label{where: attrQueue, name: "dispatch"}, []attribute.KeyValue{attribute.String("queue", "dispatch")}},
		{label{where: attrSource, name: "shop", outcome: outcomeDone}, []attribute.KeyValue{
			attribute.String("source", "shop"), attribute.String("outcome", "done"), attribute.Bool("first_attempt", false),
		}},
		{label{where: attrSource, name: "shop", outcome: outcomeDone, first: true}, []attribute.KeyValue{
			attribute.String("source", "shop"), attribute.String("outcome", "done"), attribute.Bool("first_attempt", true),
		}},
	} {
		first := built.of(c.of)
		attributes := metric.NewAddConfig([]metric.AddOption{first}).Attributes()
		require.ElementsMatch(t, c.want, attributes.ToSlice())
		require.Same(t, first, built.of(c.of))
	}
}
