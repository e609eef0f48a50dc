package outbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// BenchmarkAccept compares Accept with the usual pattern (one transaction for each event, with
// its own INSERTs and River insert). The two sides alternate in short rounds, on one
// server with fsync on, and write the same rows. One operation is one event accepted by each side.
//
// The benchmark reports the events/s and the median latency of both sides, and their ratios.
// Machines are noisy: only the ratios count.
func BenchmarkAccept(b *testing.B) {
	for _, concurrent := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("concurrent=%d", concurrent), func(b *testing.B) {
			o := onPool(b, pgtest.New(b, pgtest.Durable(), pgtest.MaxConns(64)), func(opts *Options) { opts.AcceptTimeout = time.Minute })
			warm := max(200, 4*concurrent)
			measured(b, warm, concurrent, o.acceptNaively)
			measured(b, warm, concurrent, o.acceptGrouped)
			var naive, grouped sample
			b.ResetTimer()
			const round = 4000 // both sides alternate in short rounds, so that drift affects both
			for left := b.N; left > 0; left -= round {
				n := min(left, round)
				naive.add(measured(b, n, concurrent, o.acceptNaively))
				grouped.add(measured(b, n, concurrent, o.acceptGrouped))
			}
			b.StopTimer()
			naive.report(b, "naive")
			grouped.report(b, "group")
			b.ReportMetric(grouped.perSecond()/naive.perSecond(), "ratio")
			b.ReportMetric(float64(grouped.quantile(0.5))/float64(naive.quantile(0.5)), "p50-ratio")
			b.ReportMetric(0, "ns/op")
			o.requireSameRows(b, b.N+warm)
		})
	}
}

// sample is the measurement of one side of the comparison.
type sample struct {
	latencies []time.Duration
	elapsed   time.Duration
}

func (s *sample) add(other sample) {
	s.latencies = append(s.latencies, other.latencies...)
	s.elapsed += other.elapsed
}

func (s *sample) perSecond() float64 { return float64(len(s.latencies)) / s.elapsed.Seconds() }

func (s *sample) quantile(q float64) time.Duration {
	slices.Sort(s.latencies)
	return s.latencies[int(q*float64(len(s.latencies)-1))]
}

func (s *sample) report(b *testing.B, name string) {
	b.ReportMetric(s.perSecond(), name+"-events/s")
	b.ReportMetric(float64(s.quantile(0.5).Microseconds()), name+"-p50-us")
	b.ReportMetric(float64(s.quantile(0.99).Microseconds()), name+"-p99-us")
}

// measured accepts n events with the given number of concurrent goroutines, and returns the
// latencies and the elapsed time.
func measured(b *testing.B, n, concurrent int, accept func(context.Context, Delivery) error) sample {
	b.Helper()
	latencies := make([]time.Duration, n)
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range min(concurrent, n) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				d := benchDelivery()
				began := time.Now()
				if err := accept(context.Background(), d); err != nil {
					b.Errorf("accept: %v", err)
					return
				}
				latencies[i] = time.Since(began)
			}
		})
	}
	all.Wait()
	return sample{latencies: latencies, elapsed: time.Since(start)}
}

var benchBody = []byte(`{"id":"evt","type":"invoice.paid","data":{"object":{"padding":"` + string(bytes.Repeat([]byte("x"), 900)) + `"}}}`)

func benchDelivery() Delivery {
	return Delivery{
		Source:      "stripe",
		Provider:    "stripe",
		Headers:     map[string][]string{"User-Agent": {"Stripe/1.0"}, "Stripe-Signature": {"t=1,v1=00"}},
		ContentType: "application/json",
		Body:        benchBody,
		Events:      []Incoming{{ID: identity.EventID("evt_" + uuid.NewString()), Type: "invoice.paid", OccurredAt: time.Now()}},
	}
}

func (b *bundle) acceptGrouped(ctx context.Context, d Delivery) error {
	_, err := b.Accept(ctx, d)
	return err
}

// acceptNaively accepts one event in one transaction, statement by statement.
func (b *bundle) acceptNaively(ctx context.Context, d Delivery) error {
	in := d.Events[0]
	headers, err := column.Headers(d.Headers)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(d.Body)
	deliveryID, acceptanceID := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		var receivedAt time.Time
		if err := tx.QueryRow(ctx, `
			INSERT INTO hooklatch.processed_events (
				accept_seq, source, event_id, acceptance_id, provider, event_type, occurred_at, delivery_id, payload_hash, queue
			)
			VALUES (nextval('hooklatch.accept_seq'), $1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (source, event_id) DO NOTHING
			RETURNING received_at`,
			"naive", in.ID, acceptanceID, d.Provider, in.Type, in.OccurredAt, deliveryID, hash[:], riverjob.QueueDispatch).Scan(&receivedAt); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body) VALUES ($1, $2, $3, $4, $5)`,
			deliveryID, "naive", headers, d.ContentType, d.Body); err != nil {
			return err
		}
		return b.Outbox.jobs.InsertDispatches(ctx, tx, []riverjob.DispatchJob{{
			Event: identity.EventRef{Source: "naive", EventID: in.ID}, EventType: in.Type, Queue: riverjob.QueueDispatch,
		}})
	})
}

// requireSameRows checks that the comparison is fair: each side wrote n rows of every kind.
func (b *bundle) requireSameRows(t testing.TB, n int) {
	t.Helper()
	for _, source := range []string{"naive", "stripe"} {
		require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = $1`, source))
		require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.deliveries WHERE source = $1`, source))
		require.Equal(t, n, b.count(t, `SELECT count(*) FROM hooklatch.river_job WHERE args ->> 'source' = $1`, source))
	}
}
