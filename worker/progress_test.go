package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/worker/route"
)

// Dispatches and attempts count as progress, with and without a job. Upkeep does not: it continues
// while dispatches and attempts are stuck.
func TestProgressIsOfEventsAndEffects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sender := &stubborn{fakeSender: "http", calls: make(chan int, 10), release: make(chan struct{})}
	b.opts.Destinations = []DestinationOptions{{Name: "app", Sender: sender}}
	b.opts.Routes = []route.Route{{Name: "everything", From: []string{"*"}, To: "app"}}
	w := b.worker(t)
	b.start(t, w)
	b.accept(t, "evt_1", false)
	<-sender.calls
	is := func(underway, ended int64) func() bool {
		return func() bool {
			u, e := w.Progress()
			return u == underway && e == ended
		}
	}
	require.Eventually(t, is(1, 1), time.Minute, 10*time.Millisecond, "the dispatch has ended, the attempt has not")
	end := w.running.begin(kindPauses)
	require.True(t, is(1, 1)())
	end()
	require.True(t, is(1, 1)())
	close(sender.release)
	require.Eventually(t, is(0, 2), time.Minute, 10*time.Millisecond)
	require.GreaterOrEqual(t, w.LongestRun(), minJobTimeout)
	stop(t, w)
}
