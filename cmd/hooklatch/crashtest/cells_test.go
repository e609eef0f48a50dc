package crashtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A source with many events and unfinished effects moves to another cell under load. The command
// that moves it is killed twice. Every acknowledged event is stored once (I1, I2) and its effect is
// applied once (I4), across both cells. Deliveries are refused for less than 10 seconds.
// HOOKLATCH_LONG=1 moves 200,000 events and 5,000 unfinished effects under 200 events/s.
func TestASourceThatMovesLosesNothing(t *testing.T) {
	t.Parallel()
	early, unfinished, perSecond := 5_000, 100, 50
	if long() {
		early, unfinished, perSecond = 200_000, 5_000, 200
	}
	var open atomic.Bool
	var mu sync.Mutex
	applied := map[string]int{} // by idempotency key
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !open.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mu.Lock()
		applied[r.Header.Get("Idempotency-Key")]++
		mu.Unlock()
	}))
	t.Cleanup(receiver.Close)
	first, payments := pgtest.New(t), pgtest.New(t)
	stored := func(pool *pgxpool.Pool) int {
		return count(t, pool, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome <> 'imported'`)
	}

	_, err := first.Exec(t.Context(), `
		INSERT INTO hooklatch.processed_events (
			source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at
		)
		SELECT 'stripe', 'early_' || n, nextval('hooklatch.accept_seq'), gen_random_uuid(), 'stripe', 'invoice.paid', now() - interval '1 hour', gen_random_uuid(), '', 'dispatch', 'skipped', now()
		FROM generate_series(1, $1) AS n`, early)
	require.NoError(t, err)
	g := newProcess(t, first, "serve", fmt.Sprintf(`
cells: {payments: {url: %q, allow: [fsync_off]}}
destinations:
  app: {http: {url: %q}, allow_private: [127.0.0.0/8], retry: {initial: 1s, max: 5s}, breaker: {probe: 1s, max_probe: 1s}}
routes:
  - {name: everything, from: "*", to: app}
`, pgtest.URL(t, payments), receiver.URL))
	written, err := os.ReadFile(g.config)
	require.NoError(t, err)
	moving := strings.Replace(string(written), "{provider: stripe,", "{provider: stripe, cell: payments, moved_from: main,", 1)
	require.NoError(t, os.WriteFile(g.config, []byte(moving), 0o600))
	g.start(t)
	for n := range unfinished {
		status, _ := g.deliver(t.Context(), "invoice.paid", fmt.Sprintf("waiting_%d", n))
		require.Equal(t, http.StatusOK, status)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	acknowledged := map[string]bool{}
	var lastAccepted time.Time
	var longest time.Duration // time without an accepted delivery
	var sending sync.WaitGroup
	limit := time.NewTicker(time.Second / time.Duration(perSecond))
	defer limit.Stop()
	var sent atomic.Int64
	for range 8 {
		sending.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-limit.C:
				case <-ctx.Done():
					return
				}
				id := fmt.Sprintf("live_%d", sent.Add(1))
				for ctx.Err() == nil { // like a provider that retries until it gets a 2xx
					status, _ := g.deliver(t.Context(), "invoice.paid", id)
					if status == http.StatusOK {
						mu.Lock()
						if now := time.Now(); !lastAccepted.IsZero() {
							longest = max(longest, now.Sub(lastAccepted))
							lastAccepted = now
						} else {
							lastAccepted = now
						}
						acknowledged[id] = true
						mu.Unlock()
						break
					}
					<-time.After(50 * time.Millisecond)
				}
			}
		})
	}

	path, err := binary()
	require.NoError(t, err)
	move := []string{"cells", "move", "stripe", "--to", "payments", "--yes", "--config", g.config}
	for kill := range 2 {
		// The first run is killed once it has copied an event. The second run is killed once it has
		// copied half as many events as the test inserted.
		copied := count(t, payments, `SELECT count(*) FROM hooklatch.processed_events`)
		cmd := exec.Command(path, move...)
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			return count(t, payments, `SELECT count(*) FROM hooklatch.processed_events`) > copied+kill*early/2
		}, patience, time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	require.Eventually(t, func() bool { // on a busy machine, the old cell may not finish its work before the fence ends
		output, err := exec.Command(path, move...).CombinedOutput()
		t.Logf("%s", output)
		return err == nil
	}, patience, 20*time.Millisecond)
	require.Eventually(t, func() bool { return stored(payments) >= perSecond }, patience, 20*time.Millisecond)
	stop()
	sending.Wait()
	open.Store(true)

	total := unfinished + len(acknowledged)
	t.Logf("%d acknowledged under load, longest time without an accepted delivery %s", len(acknowledged), longest)
	require.Less(t, longest, within(10*time.Second))
	require.GreaterOrEqual(t, stored(first)+stored(payments), early+total)
	for id := range acknowledged {
		status, result := g.deliver(t.Context(), "invoice.paid", id)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "duplicate", result, id)
	}
	twice := map[string]int{}
	for _, pool := range []*pgxpool.Pool{first, payments} {
		rows, err := pool.Query(t.Context(), `SELECT event_id FROM hooklatch.processed_events WHERE outcome <> 'imported'`)
		require.NoError(t, err)
		for rows.Next() {
			var id string
			require.NoError(t, rows.Scan(&id))
			twice[id]++
		}
		require.NoError(t, rows.Err())
	}
	for id, times := range twice {
		require.Equal(t, 1, times, id)
	}
	effects := stored(first) + stored(payments) - early
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(applied) == effects
	}, 4*patience, 50*time.Millisecond, "effects of both cells")
	for key, times := range applied {
		require.Equal(t, 1, times, key)
	}
}
