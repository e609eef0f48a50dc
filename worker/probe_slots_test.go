package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

// silent is a receiver that never answers. Its value is the number of calls that wait for it.
type silent struct {
	fakeSender

	waiting *atomic.Int32
}

func (s silent) Send(ctx context.Context, _ *ledger.Effect) destination.Outcome {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	<-ctx.Done()
	return destination.Outcome{Verdict: ledger.VerdictMaybeApplied, Err: ctx.Err()}
}

// answering is a receiver that accepts everything.
type answering struct{ fakeSender }

func (answering) Send(context.Context, *ledger.Effect) destination.Outcome {
	return destination.Outcome{Verdict: ledger.VerdictDone}
}

// Probes of destinations that do not answer delay neither the probe of a destination that works
// again, nor other upkeep.
func TestProbesThatHangLeaveTheUpkeepItsWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var waiting atomic.Int32
	add := func(name, eventType string, s destination.Sender) {
		b.opts.Destinations = append(b.opts.Destinations, DestinationOptions{Name: name, Sender: s, Timeout: 5 * time.Minute})
		b.opts.Routes = append(b.opts.Routes, route.Route{Name: "to-" + name, From: []string{"*"}, Types: []string{eventType}, To: name})
	}
	for i := range upkeepWorkers + 3 {
		eventType := "first"
		if i >= probesAtOnce-1 {
			eventType = "third"
		}
		add(fmt.Sprint("silent_", i), eventType, silent{"http", &waiting})
	}
	add("repaired", "second", answering{"http"})
	w := b.worker(t)
	require.NoError(t, w.registerDestinations(t.Context()))
	for _, d := range b.opts.Destinations {
		require.NoError(t, failure(b.outbox.Fleet().Trip(t.Context(), d.Name, "it was down", time.Millisecond)))
	}
	b.start(t, w)
	probing := func(n int32) {
		t.Helper()
		require.Eventually(t, func() bool { return waiting.Load() == n }, 2*time.Minute, 10*time.Millisecond)
	}
	b.take(t, incoming{id: "evt_1", eventType: "first", body: `{}`})
	probing(probesAtOnce - 1)
	b.take(t, incoming{id: "evt_2", eventType: "second", body: `{}`})
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'repaired' AND breaker_state = 'closed'`)

	b.take(t, incoming{id: "evt_3", eventType: "third", body: `{}`})
	probing(probesAtOnce)
	waitFor(t, b, `SELECT count(*) / $1 FROM hooklatch.effects`, len(b.opts.Destinations))
	var now time.Time
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&now))
	waitFor(t, b, `SELECT (count(*) = 0)::int FROM hooklatch.river_job WHERE kind = $1 AND attempted_at <= $2 AND state IN ('available', 'scheduled')`, kindProbe, now)
	inserted, err := w.client.Insert(t.Context(), partitionsArgs{}, &river.InsertOpts{Queue: riverjob.QueueUpkeep})
	require.NoError(t, err)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.river_job WHERE id = $1 AND state = 'completed'`, inserted.Job.ID)
	require.EqualValues(t, probesAtOnce, waiting.Load())
}
