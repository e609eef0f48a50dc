package instrument_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/hooklatch/hooklatch/internal/instrument"
)

func TestInstrumentsCountAndAsk(t *testing.T) {
	t.Parallel()
	reader := sdk.NewManualReader()
	in := instrument.NewMaker(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"))
	in.Counter("things", "{thing}", "Things.").Add(t.Context(), 2)
	in.Seconds("waits", "Waits.", 1, 2).Record(t.Context(), 1.5)
	in.Level("here", "{thing}", "Things that are here.", func() int64 { return 3 })
	in.Total("gone", "{thing}", "Things that went.", func() int64 { return 4 })
	registration := in.Observe()
	require.NoError(t, in.Err())
	require.Equal(t, map[string]int64{"things/": 2, "here/": 3, "gone/": 4}, read(t, reader))
	require.NoError(t, registration.Unregister())
}

func read(t *testing.T, reader sdk.Reader) map[string]int64 {
	t.Helper()
	var read metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &read))
	sums := map[string]int64{}
	for _, m := range read.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, point := range sum.DataPoints {
				sums[m.Name+"/"+point.Attributes.Encoded(attribute.DefaultEncoder())] += point.Value
			}
		}
	}
	return sums
}

// Each reader sees all counts, including counts added right before Unregister.
func TestGatheredCountsAreTold(t *testing.T) {
	t.Parallel()
	pull, push := sdk.NewManualReader(), sdk.NewManualReader()
	in := instrument.NewMaker(sdk.NewMeterProvider(sdk.WithReader(pull), sdk.WithReader(push)).Meter("test"))
	many := in.Gathered("many", "{thing}", "Things.")
	in.Level("here", "{thing}", "Things that are here.", func() int64 { return 0 })
	registration := in.Observe()
	require.NoError(t, in.Err())

	red, blue := instrument.NewLabels(attribute.String("colour", "red")), instrument.NewLabels(attribute.String("colour", "blue"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				many.Add(1, red)
				many.Add(2, blue)
			}
		})
	}
	for range 10 {
		read(t, pull) // while the goroutines count
	}
	all.Wait()
	want := map[string]int64{"here/": 0, "many/colour=red": 8000, "many/colour=blue": 16000}
	require.Equal(t, want, read(t, push))
	require.Equal(t, want, read(t, pull))

	// These labels are new, but have the same attributes. A source that is configured again has
	// such labels.
	many.Add(1, instrument.NewLabels(attribute.String("colour", "red")))
	require.NoError(t, registration.Unregister())
	require.EqualValues(t, 8001, read(t, pull)["many/colour=red"])
	require.EqualValues(t, 8001, read(t, push)["many/colour=red"])
}

func TestErrNamesTheInstrumentsThatCouldNotBeMade(t *testing.T) {
	t.Parallel()
	in := instrument.NewMaker(sdk.NewMeterProvider().Meter("test"))
	in.Counter("", "{thing}", "Nothing.")
	in.Seconds("9", "No name either.")
	require.ErrorContains(t, in.Err(), "9")

	in = instrument.NewMaker(noop.NewMeterProvider().Meter("test"))
	in.Level("here", "{thing}", "Things that are here.", func() int64 { return 3 })
	in.Observe()
	require.NoError(t, in.Err())
}
