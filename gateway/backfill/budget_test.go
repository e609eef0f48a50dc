package backfill

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// A worker's turn reads only some pages. The next turn continues where the previous turn ended,
// however many events an hour or a deep pass's window contains.
func TestAListThatIsLongerThanATurnIsReadInSeveral(t *testing.T) {
	t.Parallel()
	for name, deep := range map[string]time.Duration{"deep": time.Nanosecond, "usual": day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "stripe", "we_1")
			w.backfill.sleep = func(context.Context, time.Duration) {}
			const pages = 24
			for range pages {
				w.happen(100, "invoice.paid", func(int) int { return 0 })
				w.now = w.now.Add(50 * time.Second)
			}
			_, err := w.backfill.Run(t.Context(), "stripe", Order{By: "ann", Since: time.Now().Add(-2 * time.Hour)})
			require.NoError(t, err)
			require.Equal(t, pages*100, w.stored("backfill"))
			w.happen(3, "invoice.paid", func(int) int { return 0 })
			w.backfill.opts.Budget = 5 * time.Second
			w.source.Settings.Rate, w.source.Settings.Deep = 2, deep // a turn reads only a few of the pages
			require.Eventually(t, func() bool {
				w.turn()
				return w.stored("backfill") == pages*100+3
			}, 10*time.Minute, time.Millisecond)
			require.Eventually(t, func() bool {
				w.turn()
				return w.state().CoveredUntil.After(w.now)
			}, 10*time.Minute, time.Millisecond, "the watermark moves")
		})
	}
}

// A turn leaves time to store the events that it has read. Otherwise, the next turn would read the
// same pages again.
func TestATurnStoresWhatItHasRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gitlab", "projects/7/hooks/1")
	w.backfill.sleep = func(context.Context, time.Duration) {}
	const events = 60 * 20 // 60 pages
	w.happen(events, "push", func(int) int { return 0 })
	// A request that takes half of the budget counts as a failure of the provider.
	w.backfill.opts.Budget, w.source.Settings.Rate = 20*time.Second, 2
	w.turn()
	runs, err := w.outbox.Coverage().Runs(t.Context(), "gitlab", 1)
	require.NoError(t, err)
	require.Equal(t, "the pass used up its time before its end: the next pass continues where this one stopped", runs[0].Outcome())
	runs[0].Lost = 1
	require.Contains(t, runs[0].Outcome(), "events are lost; the pass used up its time")
	require.Zero(t, w.state().Failures)
	w.backfill.opts.Budget, w.source.Settings.Rate = 5*time.Second, 8
	require.Eventually(t, func() bool {
		w.turn()
		return w.stored("backfill") == events
	}, 10*time.Minute, time.Millisecond)
}

// A list that uses up each turn does not keep the other lists waiting: each turn begins with
// another source.
func TestALongListLeavesTurnsToTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.backfill.sleep = func(ctx context.Context, _ time.Duration) { <-ctx.Done() } // sleeps until the turn ends
	for range 10 {
		w.happen(100, "invoice.paid", func(int) int { return 0 })
		w.now = w.now.Add(50 * time.Second)
	}
	other := w.source
	other.Name, other.Settings.Token = "other", secret.New("another-token-of-the-tests")
	w.backfill.opts.Sources = func() []Source { return []Source{w.source, other} }
	w.backfill.opts.Budget = 2 * time.Second
	require.NoError(t, w.outbox.Coverage().Hurry(t.Context(), []identitySource{"stripe"}))
	for turn := 1; ; turn++ {
		require.NoError(t, w.backfill.Turn(t.Context()))
		runs, err := w.outbox.Coverage().Runs(t.Context(), "other", 1)
		require.NoError(t, err)
		if turn >= 2 && len(runs) == 1 {
			break
		}
		require.Less(t, turn, 10, "the other list has no turn") // on a busy machine, a turn may be used up before its pass
	}
}

// A provider that does not respond uses up the turn. The run records a failure of the provider,
// and not a pass that continues in the next turn.
func TestAProviderThatDoesNotRespondIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.backfill.opts.Budget = 5 * time.Second
	var asked atomic.Bool
	w.refuse = func(_ http.ResponseWriter, r *http.Request) bool {
		if isList(r) {
			asked.Store(true)
			<-r.Context().Done()
		}
		return isList(r)
	}
	before, run := w.state(), w.turn()
	for i := 0; i < 20 && !asked.Load(); i++ { // on a busy machine, a turn may be used up before its first request
		before, run = w.state(), w.turn()
	}
	require.Regexp(t, `^GET /v1/events: no response within \d+s$`, run.Error)
	after := w.state()
	require.Equal(t, 1, after.Failures)
	require.Equal(t, before.LastOKAt, after.LastOKAt)
}
