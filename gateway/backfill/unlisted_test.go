package backfill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// onlyByWebhook delivers n events by webhook as they happen. The list does not contain them.
func (w *world) onlyByWebhook(n int, eventType string) []*happened {
	w.t.Helper()
	events := w.happen(n, eventType, func(int) int { return 1 })
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range events {
		h.hidden = true
	}
	_, err := w.pool.Exec(w.t.Context(), "UPDATE hooklatch.processed_events SET received_at = occurred_at")
	require.NoError(w.t, err)
	return events
}

// A webhook delivered events that the list does not contain. The pass over the complete window
// reports them, and changes nothing.
func TestEventsThatTheListDoesNotContainAreReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripe", "we_1")
	w.source.Settings.Overlap = time.Minute
	w.happen(3, "invoice.paid", func(int) int { return 1 })
	w.onlyByWebhook(1, "customer.created")
	unlisted := w.onlyByWebhook(2, "invoice.paid")
	require.Zero(t, w.turn().Unlisted, "a list may show an event late")

	w.source.Settings.Deep = time.Nanosecond
	run := w.turn()
	require.EqualValues(t, 2, run.Unlisted, "only types that the passes fetch")
	require.Contains(t, ids(unlisted), string(run.UnlistedEvent))
	require.Equal(t, "stored events that are not in the list: 2, such as "+string(run.UnlistedEvent), run.Outcome())
	require.Equal(t, 6, w.stored("webhook"))
	state := w.state()
	require.EqualValues(t, 2, state.Unlisted)
	require.Equal(t, run.UnlistedEvent, state.UnlistedEvent)

	for _, h := range unlisted {
		w.list(h)
	}
	require.Zero(t, w.turn().Unlisted)
}

// A list of deliveries, or of one of several accounts, does not contain all events, and a list
// may show an event late. The pass does not report events that are missing for these reasons.
func TestEventsThatAListMayNotContainAreNotReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider, endpoint, eventType string
		change                        func(s *Settings)
	}{
		"deliveries":    {"paddle", "ntfset_01gkpjp8bkm3tm53kdgkx6sms7", "transaction.completed", func(*Settings) {}},
		"of an account": {"stripe", "we_1", "invoice.paid", func(s *Settings) { s.Accounts = []string{"acct_1"} }},
		"a moment ago":  {"stripe", "we_1", "invoice.paid", func(s *Settings) { s.Overlap = time.Hour }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.provider, c.endpoint)
			w.source.Settings.Overlap, w.source.Settings.Deep = time.Minute, time.Nanosecond
			c.change(&w.source.Settings)
			w.turn() // creates the watermark of the account's list
			_, err := w.pool.Exec(t.Context(), "UPDATE hooklatch.coverage SET created_at = now() - interval '2 hours'")
			require.NoError(t, err)
			w.onlyByWebhook(3, c.eventType)
			run := w.turn()
			require.Empty(t, run.Error)
			require.Zero(t, run.Unlisted)
		})
	}
}
