package worker

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
	"github.com/hooklatch/hooklatch/worker/route"
)

// crew has the destinations d0, d1 and so on, each with a route for the event type of the same
// name. Each process has the first n of them. The first attempt of an effect fails, and the second
// succeeds, half a second later.
type crew struct {
	*bundle

	refuse       atomic.Bool // if true, the receiver refuses events whose id contains "refused"
	applied      atomic.Int64
	destinations []DestinationOptions
	routes       []route.Route
}

func newFleet(t *testing.T, size int) *crew {
	t.Helper()
	f := &crew{bundle: setup(t)}
	f.opts.SoftStop = 2 * time.Minute // for a busy machine: an interrupted job waits for its rescue
	var called sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, again := called.LoadOrStore(string(body), true)
		switch {
		case err == nil && f.refuse.Load() && strings.Contains(string(body), "refused"):
			w.WriteHeader(http.StatusUnprocessableEntity)
		case !again:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			f.applied.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	for i := range size {
		name := fmt.Sprint("d", i)
		sender, err := destination.NewHTTP(destination.HTTPOptions{Name: name, URL: server.URL, Timeout: time.Minute})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sender.Close()) })
		f.destinations = append(f.destinations, DestinationOptions{
			Name: name, Sender: sender, Breaker: lane.Breaker{Off: true}, Retry: destination.Schedule{Initial: 500 * time.Millisecond, Jitter: -1},
		})
		f.routes = append(f.routes, route.Route{Name: "to-" + name, From: []string{"*"}, Types: []string{name}, To: name})
	}
	return f
}

// start starts a process that has the first n destinations.
func (f *crew) start(t *testing.T, n int) *Worker {
	t.Helper()
	b := *f.bundle
	b.opts.Destinations, b.opts.Routes = f.destinations[:n], f.routes[:n]
	w := b.worker(t)
	b.start(t, w)
	return w
}

func (f *crew) send(t *testing.T, id string, to int) {
	t.Helper()
	f.take(t, incoming{id: id, eventType: fmt.Sprint("d", to), body: fmt.Sprintf(`{"id":%q}`, id)})
}

// retry retries the refused effects of the first n destinations, as an operator would.
func (f *crew) retry(t *testing.T, n int) {
	t.Helper()
	var failed []ledger.Effect
	for from, more := find.Beginning, true; more; { // on a busy machine, a page may not search all rows
		page, err := f.outbox.Finder().Effects(t.Context(), find.Effects{States: []ledger.EffectState{ledger.EffectFailed}}, from, 100)
		require.NoError(t, err)
		failed = append(failed, page.Rows...)
		from, more = page.Next, page.More
	}
	for _, e := range failed {
		var number int
		_, err := fmt.Sscanf(e.Destination, "d%d", &number)
		require.NoError(t, err)
		if number < n {
			require.NoError(t, f.outbox.Ledger().Retry(t.Context(), e.IdempotencyKey, ledger.Operator{Who: "ann", Via: "test"}))
		}
	}
}

// The 33rd destination changes the queue of every other destination. A rolling deploy adds it:
// processes with and without it run together, and an old process restarts after the first new
// process has started. Every effect ends, including effects that were refused before and are
// retried, and Reconcile finds nothing to do.
//
// HOOKLATCH_LONG=1 begins with one destination instead of 31.
func TestDestinationsAddedOneByOneStallNothing(t *testing.T) {
	t.Parallel()
	first, last := 31, 34
	if os.Getenv("HOOKLATCH_LONG") != "" {
		first = 1
	}
	f := newFleet(t, last)
	f.refuse.Store(true)
	old := f.start(t, first)
	for i := range first {
		f.send(t, fmt.Sprint("refused_", i), i)
	}
	waitFor(t, f.bundle, `SELECT (count(*) = $1)::integer FROM hooklatch.effects WHERE state = 'failed'`, first)
	f.refuse.Store(false)

	const backlog = 500 // maximum number of waiting effects; a slow machine gets only as many as it can process
	var load sync.WaitGroup
	var known, sent atomic.Int64
	known.Store(int64(first))
	done := make(chan struct{})
	load.Go(func() {
		for n := int64(0); ; n++ {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
				if sent.Load()-f.applied.Load() < backlog {
					f.send(t, fmt.Sprint("evt_", n), int(n%known.Load()))
					sent.Add(1)
				}
			}
		}
	})
	underLoad := func() {
		before := sent.Load()
		require.Eventually(t, func() bool { return sent.Load() >= before+100 }, 2*time.Minute, time.Millisecond)
	}
	for n := first + 1; n <= last; n++ {
		added := f.start(t, n)
		underLoad()
		again := f.start(t, n-1)
		f.retry(t, 5*(n-first))
		underLoad()
		stop(t, old)
		underLoad()
		stop(t, again)
		old = added
		known.Store(int64(n))
	}
	close(done)
	load.Wait()
	f.retry(t, first)

	require.Eventually(t, func() bool {
		return f.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`) == 0 &&
			f.count(t, `SELECT count(*) FROM hooklatch.effects WHERE state <> 'done'`) == 0
	}, 2*time.Minute, 20*time.Millisecond, "effects wait where nobody works: Reconcile would not find them, since they have a job")
	require.EqualValues(t, int64(first)+sent.Load(), f.count(t, `SELECT count(*) FROM hooklatch.effects`))
	require.Zero(t, f.counted(t, "hooklatch.reconciled", nil))
	require.Zero(t, f.count(t, `SELECT COALESCE(sum(cardinality(errors)), 0) FROM hooklatch.river_job WHERE kind = 'dispatch'`))
}

// A process may find, in a shared queue, an effect of a destination that it does not have. It leaves
// the effect to processes with the destination.
func TestEffectOfAForeignDestinationIsLeftToOthers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.destinations[0].Queue, f.destinations[1].Queue = "common", "common"
	w := f.start(t, 2)
	require.NoError(t, f.outbox.Fleet().SetPaused(t.Context(), "d1", true, ledger.Operator{Who: "ann", Via: "test"}))
	f.send(t, "evt_1", 1)
	waitFor(t, f.bundle, `SELECT count(*) FROM hooklatch.river_job WHERE state = 'available' AND queue = $1`, riverjob.AsideQueue("d1"))
	stop(t, w)
	// The job is recalled, but the worker has stopped and does not start it.
	require.NoError(t, f.outbox.Fleet().SetPaused(t.Context(), "d1", false, ledger.Operator{Who: "ann", Via: "test"}))
	recalled, err := f.outbox.Fleet().Recall(t.Context(), "d1", 1)
	require.NoError(t, err)
	require.Equal(t, 1, recalled)

	f.start(t, 1) // this process has only d0, in the common queue
	waitFor(t, f.bundle, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND (metadata ->> 'snoozes')::integer >= 2`)
	require.Zero(t, f.count(t, `SELECT COALESCE(sum(cardinality(errors)), 0) FROM hooklatch.river_job WHERE kind = 'effect'`))

	// A new process serves the destination in another queue. An older process puts a job into the
	// common queue. The job still reaches the new process, although processes without the
	// destination fetch jobs from the common queue too.
	require.NoError(t, f.outbox.Fleet().SetPaused(t.Context(), "d1", true, ledger.Operator{Who: "ann", Via: "test"}))
	b := *f.bundle
	b.opts.Destinations, b.opts.Routes = f.destinations[1:], f.routes[1:]
	b.opts.Destinations[0].Queue = "elsewhere"
	b.start(t, b.worker(t))
	_, err = f.pool.Exec(t.Context(), `UPDATE hooklatch.river_job SET queue = 'common', scheduled_at = now() WHERE kind = 'effect'`)
	require.NoError(t, err)
	waitFor(t, f.bundle, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'effect' AND queue = 'elsewhere'`)
	require.NoError(t, f.outbox.Fleet().SetPaused(t.Context(), "d1", false, ledger.Operator{Who: "ann", Via: "test"}))
	waitFor(t, f.bundle, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
}
