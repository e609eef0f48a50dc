package worker

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
	"github.com/hooklatch/hooklatch/worker/route"
)

// BenchmarkBesideADeadDestination measures the time from acceptance to arrival at the receiver, at
// 100 events a second, on two sides. One side has no other load. On the other side, every event
// also goes to a destination that always fails. One operation is one event on each side. The sides
// take turns, on separate databases on one server.
func BenchmarkBesideADeadDestination(b *testing.B) {
	alone, beside := newLatencySide(b, false), newLatencySide(b, true)
	for _, side := range []*latencySide{alone, beside} {
		side.run(b, 200)
		side.latencies = nil
	}
	b.ResetTimer()
	const round = 300
	for left := b.N; left > 0; left -= round {
		alone.run(b, min(left, round))
		beside.run(b, min(left, round))
	}
	b.StopTimer()
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		b.ReportMetric(float64(alone.quantile(q).Microseconds()), "alone-"+name+"-us")
		b.ReportMetric(float64(beside.quantile(q).Microseconds()), "beside-"+name+"-us")
		b.ReportMetric(float64(beside.quantile(q))/float64(alone.quantile(q)), name+"-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// latencySide is one side of the comparison.
type latencySide struct {
	outbox    *outbox.Outbox
	sent      int
	latencies []time.Duration

	mu       sync.Mutex
	accepted map[string]time.Time
	arrived  map[string]time.Time
	all      chan struct{} // receives a value for each arrival
}

func newLatencySide(b *testing.B, dead bool) *latencySide {
	b.Helper()
	pool := pgtest.New(b, pgtest.Durable(), pgtest.MaxConns(20))
	o, err := outbox.New(outbox.Options{Pool: pool})
	require.NoError(b, err)
	s := &latencySide{outbox: o, accepted: map[string]time.Time{}, arrived: map[string]time.Time{}, all: make(chan struct{}, 100_000)}
	opts := Options{Pool: pool, Outbox: o}
	add := func(name string, receiver http.HandlerFunc) {
		server := httptest.NewServer(receiver)
		b.Cleanup(server.Close)
		sender, err := destination.NewHTTP(destination.HTTPOptions{Name: name, URL: server.URL})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, sender.Close()) })
		opts.Destinations = append(opts.Destinations, DestinationOptions{Name: name, Sender: sender, Breaker: lane.Breaker{Probe: time.Second, MaxProbe: time.Second}})
		opts.Routes = append(opts.Routes, route.Route{Name: name, From: []string{"*"}, To: name})
	}
	add("up", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.arrived[r.Header.Get("Hooklatch-Event-Id")] = time.Now()
		s.mu.Unlock()
		s.all <- struct{}{}
	})
	if dead {
		add("dead", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	}
	w, err := New(opts)
	require.NoError(b, err)
	w.noStagger = true
	require.NoError(b, w.Start(b.Context()))
	b.Cleanup(func() {
		require.NoError(b, w.Stop(context.Background()))
		require.NoError(b, o.Stop(context.Background()))
	})
	return s
}

// run accepts n events, one every 10 ms, and waits until all have arrived.
func (s *latencySide) run(b *testing.B, n int) {
	b.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	first := s.sent
	for range n {
		<-ticker.C
		id := fmt.Sprint("evt_", s.sent)
		s.sent++
		_, err := s.outbox.Accept(b.Context(), outbox.Delivery{
			Source: testSource, Provider: "stripe", ContentType: "application/json", Body: []byte(`{}`),
			Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "invoice.paid"}},
		})
		require.NoError(b, err)
		s.mu.Lock()
		s.accepted[id] = time.Now()
		s.mu.Unlock()
	}
	for range n {
		<-s.all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := first; i < s.sent; i++ {
		id := fmt.Sprint("evt_", i)
		s.latencies = append(s.latencies, s.arrived[id].Sub(s.accepted[id]))
	}
}

func (s *latencySide) quantile(q float64) time.Duration {
	slices.Sort(s.latencies)
	return s.latencies[int(q*float64(len(s.latencies)-1))]
}
