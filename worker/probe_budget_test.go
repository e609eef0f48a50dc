package worker

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
	"github.com/hooklatch/hooklatch/worker/route"
)

// A wrong secret only costs time: probes do not use up attempts.
func TestWrongSecretTripsTheBreakerAndLosesNothing(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusInternalServerError} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var right atomic.Bool
			b.addHTTP(t, "app", func(w http.ResponseWriter, _ *http.Request) {
				if !right.Load() {
					w.WriteHeader(status)
				}
			}, func(d *DestinationOptions) {
				// On a busy machine, the breaker opens late. Until then, retries use up attempts.
				d.Retry = destination.Schedule{Initial: time.Second, Max: time.Second, Jitter: -1, MaxAttempts: 3}
				d.Breaker = lane.Breaker{Failures: 2, Probe: time.Millisecond, MaxProbe: 10 * time.Millisecond}
			})
			b.start(t, b.worker(t))
			const events = 2 // the first attempts of both open the breaker
			for i := range events {
				b.take(t, incoming{id: fmt.Sprint("evt_", i), body: `{}`})
			}
			waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE breaker_state <> 'closed'`)
			// The number of probes exceeds the attempts that all effects together may have.
			waitFor(t, b, `SELECT (count(*) > 2 * 3)::int FROM hooklatch.all_attempts AS a
				JOIN hooklatch.river_job AS j ON j.id = a.job_id WHERE j.kind = 'upkeep.probe'`)
			require.Equal(t, events, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state IN ('pending', 'started', 'in_doubt')`))
			require.Positive(t, b.count(t, `SELECT max(attempt) - 3 FROM hooklatch.effects`), "the fencing token rises nevertheless")

			right.Store(true)
			waitFor(t, b, `SELECT count(*) / 2 FROM hooklatch.effects WHERE state = 'done'`)
			require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.destinations WHERE breaker_state <> 'closed'`))
		})
	}
}

// A few effects that are always refused stop neither other effects nor their own retries.
func TestEffectsThatAreAlwaysRefusedDoNotStopTheOthers(t *testing.T) {
	t.Parallel()
	const events, every = 1030, 34 // 30 are refused, and none of the last 26
	b := setup(t)
	b.addHTTP(t, "app", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Bad"), "yes") {
			w.WriteHeader(http.StatusForbidden)
		}
	}, func(d *DestinationOptions) {
		d.Retry = destination.Schedule{Initial: time.Millisecond, Max: time.Millisecond, Jitter: -1, MaxAttempts: 5}
		d.Breaker = lane.Breaker{Probe: 100 * time.Millisecond, MaxProbe: 200 * time.Millisecond}
	})
	b.opts.Routes[0].HTTP = &route.HTTPRequest{Headers: map[string]string{"X-Bad": `body.bad ? "yes" : "no"`}}
	b.start(t, b.worker(t))
	const together = 10 // events that one statement may store, in about the order of their numbers
	for from := 0; from < events; from += together {
		var senders sync.WaitGroup
		for i := from; i < from+together; i++ {
			senders.Go(func() {
				b.take(t, incoming{id: fmt.Sprint("evt_", i), body: fmt.Sprintf(`{"bad":%t}`, i%every == every/2)})
			})
		}
		senders.Wait()
	}
	require.Eventually(t, func() bool {
		return b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`) == 1000 &&
			b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'failed'`) == 30
	}, 2*time.Minute, 50*time.Millisecond)
	require.Zero(t, b.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state = 'failed' AND attempt - uncounted_attempts <> 5`))
}
