package worker

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// BenchmarkEndToEnd dispatches events whose effects call a local HTTP receiver. One side commits
// dispatches, claims and settlements in groups, as usual. The other side uses a transaction for
// each. One operation is 1000 events on each side. Both sides take turns on one server with fsync
// on.
//
// For each side, the benchmark reports the events/s, the CPU time of Postgres (Linux only), the
// WAL, and the mean group size of commits. It also reports the ratios of the events/s and of the
// CPU times. Client, receiver and server share the machine.
func BenchmarkEndToEnd(b *testing.B) {
	pool := pgtest.New(b, pgtest.Own(), pgtest.Durable(), pgtest.MaxConns(80))
	postmaster := pgtest.Server(b, pool).PID()
	// With a committer for every caller, no caller waits for another caller's commit.
	single, grouped := newBenchSide(b, pool, postmaster, "single", 1000), newBenchSide(b, pool, postmaster, "group", 0)
	single.byJobs, grouped.byJobs = true, true
	compare(b, single, grouped)
}

// BenchmarkBirths compares effects that are attempted by their jobs with effects whose first
// attempt begins with their dispatch.
func BenchmarkBirths(b *testing.B) {
	pool := pgtest.New(b, pgtest.Own(), pgtest.Durable(), pgtest.MaxConns(80))
	postmaster := pgtest.Server(b, pool).PID()
	jobs, births := newBenchSide(b, pool, postmaster, "jobs", 0), newBenchSide(b, pool, postmaster, "births", 0)
	jobs.byJobs = true
	compare(b, jobs, births)
}

// BenchmarkKeptJobs compares jobs that are deleted as soon as they have done their work with jobs
// that are kept.
func BenchmarkKeptJobs(b *testing.B) {
	pool := pgtest.New(b, pgtest.Own(), pgtest.Durable(), pgtest.MaxConns(80))
	postmaster := pgtest.Server(b, pool).PID()
	deleted, kept := newBenchSide(b, pool, postmaster, "deleted", 0), newBenchSide(b, pool, postmaster, "kept", 0)
	kept.opts.KeepJobs = 24 * time.Hour
	compare(b, deleted, kept)
}

// compare runs both sides in turn, and reports how much better the side other is than the side one.
func compare(b *testing.B, one, other *benchSide) {
	b.Helper()
	for _, side := range []*benchSide{one, other} {
		side.run(b, 300)
		side.effects, side.elapsed, side.cpu, side.wal = 0, 0, 0, 0
	}
	b.ResetTimer()
	const round = 1000 // the sides alternate, so that drift affects both
	for range b.N {
		one.run(b, round)
		other.run(b, round)
	}
	b.StopTimer()
	one.report(b)
	other.report(b)
	b.ReportMetric(other.perSecond()/one.perSecond(), "ratio")
	if one.cpu > 0 {
		b.ReportMetric(one.cpuPerEvent()/other.cpuPerEvent(), "pg-cpu-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// benchSide is one side of the comparison.
type benchSide struct {
	name       string
	pool       *pgxpool.Pool
	postmaster int
	outbox     *outbox.Outbox
	metrics    *sdkmetric.ManualReader
	opts       Options
	calls      atomic.Int64
	byJobs     bool // true if every attempt is made by a job

	sent    int
	effects int
	elapsed time.Duration
	cpu     time.Duration
	wal     int64
}

func newBenchSide(b *testing.B, pool *pgxpool.Pool, postmaster int, name string, committers int) *benchSide {
	b.Helper()
	side := &benchSide{name: name, pool: pool, postmaster: postmaster, metrics: sdkmetric.NewManualReader()}
	var err error
	side.outbox, err = outbox.New(outbox.Options{
		Pool: pool, Committers: committers, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(side.metrics)),
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, side.outbox.Stop(context.Background())) })
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { side.calls.Add(1) }))
	b.Cleanup(receiver.Close)
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: name, URL: receiver.URL})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, sender.Close()) })
	side.opts = Options{
		Pool: pool, Outbox: side.outbox,
		Destinations: []DestinationOptions{{Name: name, Sender: sender, Concurrency: 50}},
		Routes:       []route.Route{{Name: name, From: []string{name}, To: name}},
	}
	return side
}

// run carries out the effects of n events, with a new worker.
func (s *benchSide) run(b *testing.B, n int) {
	b.Helper()
	ctx := context.Background()
	const each = 100
	for left := n; left > 0; left -= each {
		d := outbox.Delivery{Source: identity.Source(s.name), Provider: "stripe", ContentType: "application/json", Body: []byte(`{"id":"evt","padding":"` + strings.Repeat("x", 900) + `"}`)}
		for range min(left, each) {
			s.sent++
			d.Events = append(d.Events, outbox.Incoming{ID: identity.EventID(fmt.Sprint("evt_", s.sent)), Type: "invoice.paid"})
		}
		_, err := s.outbox.Accept(ctx, d)
		require.NoError(b, err)
	}
	w, err := New(s.opts)
	require.NoError(b, err)
	w.noStagger, w.births.off = true, s.byJobs
	before, written, start := postgresCPU(s.postmaster), s.walWritten(b), time.Now()
	require.NoError(b, w.Start(ctx))
	for s.calls.Load() < int64(s.sent) {
		<-time.After(time.Millisecond)
		require.Less(b, time.Since(start), 5*time.Minute)
	}
	s.elapsed += time.Since(start)
	// The worker stops first, because settlements and completions are part of the cost.
	require.NoError(b, w.Stop(ctx))
	s.cpu += postgresCPU(s.postmaster) - before
	s.wal += s.walWritten(b) - written
	s.effects += n
	var done int
	require.NoError(b, s.pool.QueryRow(ctx, `SELECT count(*) FROM hooklatch.effects WHERE destination = $1 AND state = 'done'`, s.name).Scan(&done))
	require.Equal(b, s.sent, done)
	require.EqualValues(b, s.sent, s.calls.Load(), "every effect was applied once")
}

// walWritten returns the bytes of WAL that the server has written so far.
func (s *benchSide) walWritten(b *testing.B) (bytes int64) {
	b.Helper()
	require.NoError(b, s.pool.QueryRow(context.Background(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&bytes))
	return bytes
}

func (s *benchSide) perSecond() float64   { return float64(s.effects) / s.elapsed.Seconds() }
func (s *benchSide) cpuPerEvent() float64 { return float64(s.cpu.Microseconds()) / float64(s.effects) }

func (s *benchSide) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(s.perSecond(), s.name+"-events/s")
	if s.cpu > 0 {
		b.ReportMetric(s.cpuPerEvent(), s.name+"-pg-cpu-us/event")
	}
	b.ReportMetric(float64(s.wal)/float64(s.effects), s.name+"-wal-B/event")
	var data metricdata.ResourceMetrics
	require.NoError(b, s.metrics.Collect(b.Context(), &data))
	var members, commits float64
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			batches, ok := m.Data.(metricdata.Histogram[int64])
			if !ok || m.Name != "hooklatch.batch.size" {
				continue
			}
			for _, p := range batches.DataPoints {
				if kind, _ := p.Attributes.Value("kind"); kind.AsString() != "accept" {
					members, commits = members+float64(p.Sum), commits+float64(p.Count)
				}
			}
		}
	}
	b.ReportMetric(members/commits, s.name+"-members/commit")
}

// clockTick is the unit of CPU times in /proc: 1/USER_HZ. USER_HZ is 100 on every Linux system that
// Go runs on.
const clockTick = 10 * time.Millisecond

// postgresCPU returns the CPU time of a server's running and exited processes so far, according to
// proc(5). It is 0 where /proc does not exist.
func postgresCPU(postmaster int) time.Duration {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	var ticks int64
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has exited
		}
		// The fields follow the name in parentheses, which may contain any character.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		own := strings.HasPrefix(path, fmt.Sprintf("/proc/%d/", postmaster))
		if len(fields) < 15 || fields[1] != strconv.Itoa(postmaster) && !own {
			continue
		}
		counted := fields[11:13] // utime and stime
		if own {
			counted = fields[11:15] // includes children that the process has waited for
		}
		for _, field := range counted {
			n, err := strconv.ParseInt(field, 10, 64)
			if err == nil {
				ticks += n
			}
		}
	}
	return time.Duration(ticks) * clockTick
}
