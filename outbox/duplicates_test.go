package outbox

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

func TestTheLastTimesOfDuplicatesAreKept(t *testing.T) {
	t.Parallel()
	var note duplicateNote
	var room atomic.Bool // true if the writer accepts gathered counts
	counted := newDuplicateCount(func(n duplicateNote) bool {
		note = n
		return room.Load()
	})
	first := time.Now()
	for i := range keptTimes + 3 {
		require.True(t, counted.add(identity.EventRef{Source: "stripe", EventID: "evt_1"}, i == 1, true, first.Add(time.Duration(i)*time.Second)))
	}
	room.Store(true)
	require.NoError(t, counted.runner.Stop(t.Context())) // writes the rest
	require.EqualValues(t, keptTimes+3, note.count)
	require.True(t, note.bodyDiffers)
	require.Len(t, note.times, keptTimes)
	require.Equal(t, first.Add(3*time.Second), note.times[0])
	require.Equal(t, first.Add((keptTimes+2)*time.Second), note.times[keptTimes-1])
}

// If the webhook of a fetched event arrives afterwards, it was late, and not missing. Such events
// are counted, so that an operator sees that the backfill's lag is too short. A second webhook, or
// a second listing of the event, is not counted.
func TestFetchedEventsWhoseWebhookComesLaterAreCounted(t *testing.T) {
	t.Parallel()
	reader := metric.NewManualReader()
	b := setup(t, func(o *Options) { o.MeterProvider = metric.NewMeterProvider(metric.WithReader(reader)) })
	come := func(origin identity.Origin, ids ...string) {
		t.Helper()
		before := b.count(t, `SELECT coalesce(sum(duplicates), 0) FROM hooklatch.processed_events`)
		d := delivery("github", ids...)
		d.Origin = origin
		acceptance, err := b.Accept(t.Context(), d)
		require.NoError(t, err)
		for _, e := range acceptance.Events {
			if e.Status == Duplicate {
				before++
			}
		}
		require.Eventually(t, func() bool {
			return b.count(t, `SELECT coalesce(sum(duplicates), 0) FROM hooklatch.processed_events`) == before
		}, 2*time.Minute, 10*time.Millisecond)
	}
	come(identity.Backfill, "fetched-1", "fetched-2", "fetched-3")
	come("", "delivered")
	come("", "fetched-1", "delivered")
	come("", "fetched-1")
	come(identity.Backfill, "fetched-3", "delivered")
	come(identity.Webhook, "fetched-2")
	require.NoError(t, b.Stop(t.Context())) // waits for the functions that count after a COMMIT
	var got metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &got))
	var overtaken int64
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == "hooklatch.backfill.overtaken" {
				for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints { //nolint:forcetypeassert // the counter is an Int64Counter
					overtaken += point.Value
				}
			}
		}
	}
	require.EqualValues(t, 2, overtaken)
}
