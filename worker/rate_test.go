package worker

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
)

// A rate holds for the fleet: three workers together start as many attempts as
// one would.
func TestRateHoldsForTheFleet(t *testing.T) {
	t.Parallel()
	const rate, window, events = 50, 6 * time.Second, 420
	b := setup(t)
	var mu sync.Mutex
	var calls []time.Time
	enough := make(chan struct{})
	b.to(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if calls = append(calls, time.Now()); len(calls) == events {
			close(enough)
		}
	}, func(d *DestinationOptions) { d.Rate, d.Burst, d.Concurrency = rate, 5, 20 })
	for i := range events {
		b.take(t, incoming{id: fmt.Sprint("evt_", i), body: `{}`})
	}
	for range 3 {
		own, err := outbox.New(outbox.Options{Pool: b.pool})
		require.NoError(t, err)
		b.opts.Outbox = own
		b.start(t, b.worker(t))
	}
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Fatal("too slow")
	}
	mu.Lock()
	defer mu.Unlock()
	begin := calls[0].Add(time.Second) // the burst is over
	within := 0
	for _, at := range calls {
		if !at.Before(begin) && at.Before(begin.Add(window)) {
			within++
		}
	}
	perSecond := float64(within) / window.Seconds()
	t.Logf("%.1f calls a second over %s", perSecond, window)
	require.InDelta(t, rate, perSecond, rate/10)
}
