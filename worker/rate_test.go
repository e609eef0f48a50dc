package worker

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// A rate applies to all processes: three workers together start as many attempts as one would.
func TestRateHoldsForTheFleet(t *testing.T) {
	t.Parallel()
	const rate, burst, concurrency, events = 50, 5, 20, 420
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
	}, func(d *DestinationOptions) { d.Rate, d.Burst, d.Concurrency = rate, burst, concurrency })
	d := outbox.Delivery{Source: testSource, Provider: "stripe", ContentType: "application/json", Body: []byte(`{}`)}
	for i := range events {
		d.Events = append(d.Events, outbox.Incoming{ID: identity.EventID(fmt.Sprint("evt_", i)), Type: "invoice.paid"})
	}
	_, err := b.outbox.Accept(t.Context(), d)
	require.NoError(t, err)
	for range 3 {
		own, err := outbox.New(outbox.Options{Pool: b.pool, AcceptTimeout: time.Minute})
		require.NoError(t, err)
		b.opts.Outbox = own
		b.start(t, b.worker(t))
	}
	select {
	case <-enough:
	case <-time.After(2 * time.Minute):
		t.Fatal("too slow")
	}
	mu.Lock()
	defer mu.Unlock()
	// A slow machine makes fewer calls a second, but never more. Each slot may hold a token for a
	// late call.
	const late = 3 * concurrency
	took := calls[len(calls)-1].Sub(calls[0])
	t.Logf("%d calls in %s", len(calls), took)
	require.LessOrEqual(t, float64(len(calls)), rate*took.Seconds()+burst+late)
}
