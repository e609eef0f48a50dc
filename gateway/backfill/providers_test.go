package backfill

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each provider has a thousand events. For 100 of them no webhook arrives. For 50 the webhook
// arrives twice, and for 20 it arrives late, during a pass or after it. Each event is stored once
// and dispatched once, and the passes count exactly the events that no webhook had delivered
// before. Events of types without a subscription are not stored.
func TestEachProvidersListBringsWhatItsWebhooksDidNot(t *testing.T) {
	t.Parallel()
	for name, c := range listings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, name, c.endpoint)
			w.subscribe(c.eventType)
			w.happen(20, c.foreign, never)
			events := w.happen(1000, c.eventType, func(i int) int {
				switch {
				case i%10 == 3, i%50 == 9:
					return 0
				case i%20 == 7:
					return 2
				}
				return 1
			})
			var lost, during, after []*happened
			for i, h := range events {
				switch {
				case i%10 == 3:
					lost = append(lost, h)
				case i%100 == 9:
					during = append(during, h)
				case i%100 == 59:
					after = append(after, h)
				}
			}
			require.Len(t, lost, 100)
			require.Equal(t, 880, w.stored("webhook"))

			var late error
			var arriving sync.WaitGroup
			var once sync.Once
			w.refuse = func(_ http.ResponseWriter, r *http.Request) bool {
				if isList(r) {
					once.Do(func() { arriving.Go(func() { late = w.deliver(during...) }) })
				}
				return false
			}
			run := w.turn()
			arriving.Wait()
			require.NoError(t, late)
			require.Empty(t, run.Error)
			require.EqualValues(t, 20, run.Filtered)
			w.turn() // finds out which redeliveries have arrived
			recovered := w.recovered()
			require.GreaterOrEqual(t, recovered, int64(110), "the webhooks that never arrived, and the webhooks after the pass")
			require.LessOrEqual(t, recovered, int64(120))
			require.Equal(t, recovered, w.brought())
			for _, h := range append(lost, after...) {
				require.True(t, w.isRecovered(h), h.id)
			}

			require.Eventually(t, func() bool {
				require.NoError(t, w.deliver(after...)) // again, because the outbox drops a count that it cannot write in 5 s
				return w.count("SELECT count(*) FROM hooklatch.processed_events WHERE source = $1 AND duplicates > 0 AND event_id IN ('"+strings.Join(ids(after), "','")+"')") == 10
			}, 2*time.Minute, 500*time.Millisecond, "the late webhooks are duplicates")
			again := w.turn()
			require.Empty(t, again.Error)
			require.Zero(t, again.Missing)
			require.Equal(t, recovered, w.recovered())
			require.ElementsMatch(t, ids(events), w.column("SELECT event_id FROM hooklatch.processed_events WHERE source = $1"))
			require.ElementsMatch(t, ids(events), w.dispatched())

			for id, times := range w.asked {
				require.Equal(t, 1, times, "redelivery of "+id)
			}

			next := w.happen(3, c.eventType, never)
			w.turn()
			w.turn()
			require.Equal(t, recovered+3, w.recovered(), "the next passes continue")
			require.ElementsMatch(t, ids(append(events, next...)), w.dispatched())
		})
	}
}
