package retention_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/spread"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/retention"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Retention does not delay deliveries that arrive at a steady rate. Rounds without and with
// retention alternate. The test divides the 99th percentiles of each pair of rounds: the upper end
// of the ratios' spread stays below a bound. The bound applies only with HOOKLATCH_LONG=1, on an
// otherwise idle machine. The short form checks only that deliveries are accepted in every round.
func TestDeliveriesDoNotNoticeTheCleanUp(t *testing.T) { //nolint:paralleltest // the test must run alone when it measures
	long := os.Getenv("HOOKLATCH_LONG") != ""
	if !long { // a measurement needs an otherwise idle machine
		t.Parallel()
	}
	rounds, length, rate, old := 1, time.Second, 50, 20_000
	if long {
		rounds, length, rate, old = 41, 2*time.Second, 200, 600_000
	}
	pool := pgtest.New(t, pgtest.Durable())
	o, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, o.Stop(ctx))
	})
	// The database contains many old events, and fourteen days of old bodies.
	_, err = pool.Exec(t.Context(), `
		INSERT INTO hooklatch.processed_events
			(source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at)
		SELECT 'old', md5(i::text), nextval('hooklatch.accept_seq'), gen_random_uuid(), 'hmac', 'happened', '2020-01-01Z'::timestamptz + i * interval '1 second',
			gen_random_uuid(), sha256(i::text::bytea), 'dispatch', 'dispatched', '2020-02-01Z'
		FROM generate_series(1, $1::integer) AS i`, old)
	require.NoError(t, err)
	for day := range 14 {
		_, err = pool.Exec(t.Context(), fmt.Sprintf(`
			CREATE TABLE hooklatch.deliveries_202001%02d PARTITION OF hooklatch.deliveries FOR VALUES FROM ('2020-01-%02dZ') TO ('2020-01-%02dZ')`, day+1, day+1, day+2))
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), fmt.Sprintf(`
			INSERT INTO hooklatch.deliveries SELECT gen_random_uuid(), '2020-01-%02dZ', 'old', '{}', '', convert_to(repeat(md5(i::text), 30), 'UTF8')
			FROM generate_series(1, $1::integer) AS i`, day+1), old/280)
		require.NoError(t, err)
	}
	for _, settle := range []string{`VACUUM (ANALYZE) hooklatch.processed_events`, `CHECKPOINT`} {
		_, err = pool.Exec(t.Context(), settle)
		require.NoError(t, err)
	}

	n := 0
	warm, cancel := context.WithTimeout(t.Context(), time.Second)
	acceptAt(t, warm, o, rate, &n)
	cancel()
	var without, with []float64 // milliseconds, one per round
	var deleted int64
	for round := range rounds * 2 {
		ctx, cancel := context.WithTimeout(t.Context(), length)
		var cleaning sync.WaitGroup
		if round%2 == 1 {
			cleaning.Go(func() {
				for ctx.Err() == nil {
					report, err := o.Retention().Run(t.Context(), retention.Order{
						Settings: retention.Settings{Dedup: map[identity.Source]time.Duration{"old": 90 * day}}, Approved: &ann, Until: time.Now().Add(length),
					})
					for _, p := range report.Parts {
						deleted += p.Rows
					}
					if err != nil || report.Complete {
						break
					}
				}
			})
		}
		p99 := acceptAt(t, ctx, o, rate, &n)
		cancel()
		cleaning.Wait()
		if round%2 == 1 {
			with = append(with, p99)
		} else {
			without = append(without, p99)
		}
	}
	var times []float64
	for round := range rounds {
		times = append(times, with[round]/without[round])
	}
	calm, busy, ratio := spread.Of(without), spread.Of(with), spread.Of(times)
	t.Logf("p99 of %d rounds: %.2f ms (%.2f..%.2f), during the clean-up %.2f ms (%.2f..%.2f), %.2fx (%.2f..%.2f); %d rows deleted",
		rounds, calm.Median, calm.Low, calm.High, busy.Median, busy.Low, busy.High, ratio.Median, ratio.Low, ratio.High, deleted)
	if long {
		require.Less(t, ratio.High, 1.5)
	}
}

// acceptAt accepts events at a steady rate until ctx is done. It returns the 99th percentile of the
// delay in milliseconds between an event's due time and its storage.
func acceptAt(t *testing.T, ctx context.Context, o *outbox.Outbox, rate int, n *int) float64 { //nolint:revive // t is the first parameter of every helper
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case due := <-ticker.C:
			*n++
			id := fmt.Sprint("new-", *n)
			all.Go(func() {
				_, err := o.Accept(t.Context(), outbox.Delivery{
					Source: "new", Provider: "hmac", Body: bodyOf(id), Events: []outbox.Incoming{{ID: identity.EventID(id), Type: "happened"}},
				})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					took = append(took, time.Since(due))
				}
			})
		case <-ctx.Done():
		}
	}
	all.Wait()
	slices.Sort(took)
	require.NotEmpty(t, took)
	return float64(took[len(took)*99/100].Microseconds()) / 1000
}
