package backfill

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Events happen while a list's pages are read. They shift numbered pages, but must neither
// hide an event nor duplicate one.
func TestInsertionBetweenPagesLosesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range listings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, name, c.endpoint)
			w.perPage = 20
			events := w.happen(110, c.eventType, never)
			pages := 0
			w.refuse = func(_ http.ResponseWriter, r *http.Request) bool {
				if !isList(r) {
					return false
				}
				w.mu.Lock()
				pages++
				inserts := pages > 1 && pages <= 5
				w.mu.Unlock()
				for range 3 {
					if inserts {
						w.event(c.eventType, 0, false)
					}
				}
				return false
			}
			run := w.turn()
			require.Empty(t, run.Error)
			require.Greater(t, pages, 5)
			require.Equal(t, run.Listed, run.Missing, "each event is counted once")
			w.turn() // finds out which redeliveries have arrived
			require.Subset(t, w.dispatched(), ids(events), "the events listed before the pass")
			w.refuse = nil
			for range 2 {
				require.Empty(t, w.turn().Error)
			}
			require.Len(t, w.events, 122)
			require.EqualValues(t, 122, w.recovered())
			require.ElementsMatch(t, ids(w.events), w.dispatched())
			require.Zero(t, w.turn().Missing)
			require.Equal(t, w.count("SELECT sum(recovered) FROM hooklatch.backfill_runs WHERE source = $1"), w.count("SELECT sum(missing) FROM hooklatch.backfill_runs WHERE source = $1"))
		})
	}
}
