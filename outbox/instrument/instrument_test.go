package instrument_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/hooklatch/hooklatch/outbox/instrument"
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

	var read metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &read))
	sums := map[string]int64{}
	for _, m := range read.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			sums[m.Name] = sum.DataPoints[0].Value
		}
	}
	require.Equal(t, map[string]int64{"things": 2, "here": 3, "gone": 4}, sums)
	require.NoError(t, registration.Unregister())
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
