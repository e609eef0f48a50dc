package crashtest

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Three worker processes share a rate of 50 attempts a second. Measured at the receiver, the rate
// is never exceeded. With HOOKLATCH_LONG=1, on a quiet machine, the test also requires that the
// rate is reached over 20 s.
//
//nolint:paralleltest // it measures time, so no other test may run meanwhile
func TestRateOverThreeProcesses(t *testing.T) {
	const rate, burst, concurrency, processes = 50, 5, 20, 3
	window, long := 5*time.Second, os.Getenv("HOOKLATCH_LONG") != ""
	if long {
		window = 20 * time.Second
	}
	enough := rate * int((window+2*time.Second)/time.Second)
	l, r := newScene(t, "http", ledger.AtLeastOnce), newReceiver(t)
	workers := make([]*process, processes)
	for i := range workers {
		workers[i] = startWorker(t, l.pool, setting{URL: r.url, Concurrency: concurrency, Rate: rate, Burst: burst})
	}
	// A process that starts late on a busy machine would find no work.
	require.Eventually(t, func() bool { return l.count(t, `SELECT count(*) FROM hooklatch.workers`) == processes }, patience, 10*time.Millisecond)
	l.enqueue(t, enough+rate, func(int) ledger.Request { return ledger.Request{Body: []byte(`{}`)} })
	require.Eventually(t, func() bool { return r.total() >= enough }, patience, 10*time.Millisecond)

	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.times, time.Time.Compare)
	took := r.times[len(r.times)-1].Sub(r.times[0])
	begin := r.times[0].Add(time.Second) // the burst is over, and all processes have started
	within := 0
	for _, at := range r.times {
		if !at.Before(begin) && at.Before(begin.Add(window)) {
			within++
		}
	}
	perSecond := float64(within) / window.Seconds()
	shares := make([]int, processes)
	for i, p := range workers {
		shares[i] = len(p.marked(markAnswered))
		require.Positive(t, shares[i], "a process made no calls")
	}
	t.Logf("%.1f calls a second over %s, by processes %v", perSecond, window, shares)
	// A slow machine makes fewer calls per second, never more. When the first call arrives, each
	// slot may already hold a token for a call that arrives later.
	require.LessOrEqual(t, float64(len(r.times)), rate*took.Seconds()+burst+processes*concurrency)
	if long {
		require.InDelta(t, rate, perSecond, rate/10)
	}
}
