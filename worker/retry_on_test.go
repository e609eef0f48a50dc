package worker

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/worker/destination"
)

// The receiver deploys its endpoint only after the event arrived.
func TestNotFoundFourTimesThenFoundEndsDone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.to(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) <= 4 {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	require.EqualValues(t, 5, calls.Load())
	require.Equal(t, 4, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE response_status = 404 AND applied = 'no' AND state = 'pending'`))
}

// An effect fails if all of its attempts are refused, and its order continues.
func TestTurnedAwayToTheEndFailsAndItsOrderGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var calls atomic.Int32
	b.to(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) <= 2 {
			w.WriteHeader(http.StatusForbidden)
		}
	}, func(d *DestinationOptions) {
		d.Retry = destination.Schedule{Initial: time.Millisecond, Jitter: -1, MaxAttempts: 2}
	})
	b.opts.Routes[0].OrderBy = `"one"`
	events := b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)
	b.accept(t, "evt_2", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE key = 'evt_1' AND state = 'failed' AND attempt = 2`)
	// The second effect's job may have run first, and found the effect blocked by its order.
	e := <-events
	for e.Kind != river.EventKindJobFailed {
		e = <-events
	}
	require.Equal(t, "app: HTTP 403 Forbidden", e.Job.Errors[0].Error)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE key = 'evt_2' AND state = 'done'`)
	lines := b.lines(t, "effect attempted")
	require.Equal(t, "WARN", lines[1]["level"], "%v", lines[1])
	require.Equal(t, "failed", lines[1]["outcome"])
}

// The ledger rotates a key for which the receiver replays a stored refusal, just as it does after a
// stored 5xx.
func TestStoredRefusalGetsANewKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := make(chan string, 10)
	b.to(t, func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		if len(keys) == 1 {
			w.Header().Set("Idempotent-Replayed", "true")
			w.WriteHeader(http.StatusNotFound)
		}
	}, func(d *DestinationOptions) { d.OnStoredError = OnStoredErrorNewKey })
	b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	first := <-keys
	require.Equal(t, first+"_1", <-keys)
}
