package measure_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const (
	patience = 2 * time.Minute
	tick     = 5 * time.Millisecond
)

// process simulates a process that may collect.
type process struct {
	*measure.Collector

	metrics *sdk.ManualReader
}

// start starts a process whose lease lasts half a second.
func start(t *testing.T, pool *pgxpool.Pool) *process {
	t.Helper()
	return startLeasing(t, pool, 500*time.Millisecond)
}

func startLeasing(t *testing.T, pool *pgxpool.Pool, lease time.Duration) *process {
	t.Helper()
	p := &process{metrics: sdk.NewManualReader()}
	var err error
	p.Collector, err = measure.NewCollector(measure.CollectorOptions{Pool: pool, MeterProvider: sdk.NewMeterProvider(sdk.WithReader(p.metrics))})
	require.NoError(t, err)
	p.Hasten(20*time.Millisecond, lease)
	p.Start(t.Context())
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	return p
}

// exported returns the exported values, by name and labels.
func (p *process) exported(t *testing.T) map[string]float64 {
	t.Helper()
	var read metricdata.ResourceMetrics
	require.NoError(t, p.metrics.Collect(t.Context(), &read))
	values := map[string]float64{}
	for _, scope := range read.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, point := range m.Data.(metricdata.Gauge[float64]).DataPoints { //nolint:forcetypeassert // any other type fails the test
				values[m.Name+"{"+point.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = point.Value
			}
		}
	}
	return values
}

func (p *process) collects(t *testing.T) bool {
	t.Helper()
	return len(p.exported(t)) > 0
}

func TestGaugesAreExported(t *testing.T) {
	t.Parallel()
	p := start(t, waits(t))
	var values map[string]float64
	require.Eventually(t, func() bool {
		values = p.exported(t)
		return len(values) > 0
	}, patience, tick)
	for name, want := range map[string]float64{
		"hooklatch.effects{destination=crm,state=pending}":         300,
		"hooklatch.effects{destination=crm,state=failed}":          7,
		"hooklatch.events.undispatched{source=stripe}":             20,
		"hooklatch.events.aside{source=stripe,state=held}":         3,
		"hooklatch.source.usual_events{source=stripe}":             100,
		"hooklatch.source.duplicates{source=stripe}":               0.25,
		"hooklatch.source.usual_duplicates{source=stripe}":         0.02,
		"hooklatch.quarantine.deliveries{source=stripe}":           3,
		"hooklatch.quarantine.size{source=stripe}":                 300,
		"hooklatch.quarantine.of_known_senders{source=stripe}":     1,
		"hooklatch.endpoint.enabled{source=github}":                0,
		"hooklatch.backfill.failures{source=github}":               2,
		"hooklatch.destination.paused{destination=app}":            1,
		"hooklatch.destination.paused{destination=crm}":            0,
		"hooklatch.destination.breaker_open{destination=crm}":      1,
		"hooklatch.at_most_once.withheld{}":                        0,
		"hooklatch.leader{}":                                       1,
		"hooklatch.processes{config_hash=y,kind=worker,version=1}": 1,
		"hooklatch.retention.day_rows{kind=events,source=stripe}":  17,
		"hooklatch.retention.stopped{kind=events,source=stripe}":   1,
		"hooklatch.retention.stopped{kind=attempts,source=}":       0,
		"hooklatch.table.rows{table=effects}":                      377,
		"hooklatch.table.size{table=effects}":                      8192,
	} {
		require.Contains(t, values, name)
		require.InDelta(t, want, values[name], 1e-9, name)
	}
	require.NotContains(t, values, "hooklatch.source.duplicates{source=github}", "three events are too few for a rate")
	for name, want := range map[string]time.Duration{
		"hooklatch.effects.oldest_due{destination=crm}":       time.Hour,
		"hooklatch.events.oldest_undispatched{source=stripe}": time.Hour,
		"hooklatch.source.silence{source=github}":             3 * time.Hour,
	} {
		require.InDelta(t, want.Seconds(), values[name], 60, name)
	}
	require.InDelta(t, time.Now().Unix(), values["hooklatch.collected.timestamp{}"], 60)
	require.NoError(t, p.Stop(t.Context()))
	require.Empty(t, p.exported(t))
}

// Only one of all running processes exports. No lease expires in this test, even if the machine
// stalls: the next process takes over because the previous process stopped.
func TestOneProcessCollectsAndAnotherTakesOver(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var processes []*process
	for range 3 {
		processes = append(processes, startLeasing(t, pool, time.Hour))
	}
	for len(processes) > 0 {
		var i int
		require.Eventually(t, func() bool {
			i = slices.IndexFunc(processes, func(p *process) bool { return p.collects(t) })
			return i >= 0
		}, patience, tick)
		for range 20 { // for several turns
			exporting := 0
			for _, p := range processes {
				if p.collects(t) {
					exporting++
				}
			}
			require.LessOrEqual(t, exporting, 1)
		}
		require.NoError(t, processes[i].Stop(t.Context()))
		require.NoError(t, processes[i].Stop(t.Context()))
		processes = slices.Delete(processes, i, i+1)
	}
}

// Another process takes over from a killed collector once the collector's lease has ended, or if
// the clock has been set back.
func TestACollectorThatWasKilledIsFollowed(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]string{"its lease ends": "300 milliseconds", "the clock was set back": "1 hour"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.collector (holder, until) VALUES (gen_random_uuid(), now() + $1::interval)`, until)
			require.NoError(t, err)
			p := start(t, pool)
			require.Eventually(t, func() bool { return p.collects(t) }, patience, tick)
		})
	}
}

// A collector that cannot read exports nothing once its lease has ended, and continues when it can
// read again.
func TestNothingStaleIsExported(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	p := start(t, pool)
	require.Eventually(t, func() bool { return p.collects(t) }, patience, tick)
	_, err := pool.Exec(t.Context(), `ALTER TABLE hooklatch.collector RENAME TO elsewhere`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !p.collects(t) }, patience, tick)
	_, err = pool.Exec(t.Context(), `ALTER TABLE hooklatch.elsewhere RENAME TO collector`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.collects(t) }, patience, tick)
}
