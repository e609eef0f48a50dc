package backfill

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A feed may show old events late. Its cursor, not a time, determines where the next pass
// continues.
func TestAFeedMayShowOldEventsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "okta", "who8vt36qfNpCGz9H1e6")
	w.source.Settings.Overlap = time.Millisecond
	old := w.event("user.lifecycle.create", time.Millisecond, true)
	w.happen(2, "user.lifecycle.create", never)
	require.EqualValues(t, 2, w.turn().Recovered)
	w.list(old)
	require.EqualValues(t, 1, w.turn().Recovered)
}

// A feed does not stop if the provider no longer accepts its cursor: the next pass reads the feed
// again from the beginning of the window.
func TestAFeedWhoseCursorHasAgedGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "okta", "who8vt36qfNpCGz9H1e6")
	w.happen(3, "user.lifecycle.create", never)
	require.EqualValues(t, 3, w.turn().Recovered)
	w.happen(150, "user.lifecycle.create", never)
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("after") != "3" {
			return false
		}
		out.WriteHeader(http.StatusBadRequest)
		return true
	}
	run := w.turn()
	require.Empty(t, run.Error)
	require.EqualValues(t, 150, run.Recovered)
}

// After its cursor, a feed may show events from long before the watermark. A feed whose cursor
// the provider has forgotten must therefore be read again from the beginning of the window.
func TestAFeedWhoseCursorHasAgedShowsOldEventsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "okta", "who8vt36qfNpCGz9H1e6")
	w.source.Settings.Overlap = time.Millisecond
	old := w.event("user.lifecycle.create", time.Millisecond, true)
	w.happen(2, "user.lifecycle.create", never)
	require.EqualValues(t, 2, w.turn().Recovered)
	w.list(old)
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("after") == "" {
			return false
		}
		w.mu.Lock()
		w.refuse = nil
		w.mu.Unlock()
		out.WriteHeader(http.StatusGone)
		return true
	}
	require.EqualValues(t, 1, w.turn().Recovered)
}

// No later pass reads the items before a feed's cursor, so an event is stored even if its time is
// wrong. The watermark stays in the past.
func TestAFeedMayShowEventsOfTheFuture(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "okta", "who8vt36qfNpCGz9H1e6")
	w.happen(1, "user.lifecycle.create", never)
	w.event("user.lifecycle.create", 3*time.Hour, false)
	require.EqualValues(t, 2, w.turn().Recovered)
	state := w.state()
	require.False(t, state.CoveredUntil.After(state.Now))
}

// A pass over a period reads a feed from its beginning, stores nothing outside the period, and
// leaves the cursor unchanged.
func TestAnOrderForAPeriodOfAFeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "okta", "who8vt36qfNpCGz9H1e6")
	var events []*happened
	for range 5 {
		events = append(events, w.event("user.lifecycle.create", time.Minute, false))
	}
	before := w.mark()
	runs, err := w.backfill.Run(t.Context(), "okta", Order{By: "ann", Since: events[1].at, Until: events[3].at})
	require.NoError(t, err)
	require.EqualValues(t, 2, runs[0].Recovered)
	require.ElementsMatch(t, ids(events[1:3]), w.column(storedEvents))
	require.Equal(t, before, w.mark())
	require.EqualValues(t, 3, w.turn().Recovered)
}

// A feed's cursor may be the name of the last item.
func TestAFeedOfYourOwnContinuesAfterTheLastItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	settings := Settings{
		Token: w.source.Settings.Token, Rate: 1000, Lag: time.Millisecond, Every: time.Millisecond,
		Own: &OwnList{URL: w.api.URL + "/own?after={last}", Items: "/data", Time: "/created", Ref: "/id", Next: "/more", Order: "feed"},
	}.WithDefaults(nil)
	require.NoError(t, settings.Validate(0))
	w.source.Settings = settings
	w.refuse = func(out http.ResponseWriter, r *http.Request) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		after, found, more := r.URL.Query().Get("after"), false, false
		page := []json.RawMessage{}
		for _, h := range w.events {
			switch {
			case after != "" && !found:
				found = h.id == after
			case len(page) == 7:
				more = true
			default:
				page = append(page, h.webhook.Body)
			}
		}
		_ = json.NewEncoder(out).Encode(map[string]any{"data": page, "more": more})
		return true
	}
	w.happen(20, "invoice.paid", never)
	require.EqualValues(t, 20, w.turn().Recovered)
	w.happen(10, "invoice.paid", never)
	run := w.turn()
	require.Empty(t, run.Error)
	require.EqualValues(t, 10, run.Recovered)
	require.Less(t, run.Listed, int64(20), "the list is not read from its beginning")
}
