package retention_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

func (w *world) dispatchSearched(t *testing.T, source, id string, values ...string) {
	t.Helper()
	d, err := w.Dispatch(t.Context(), outbox.Dispatch{Event: w.loaded(t, source, id), SearchValues: values})
	require.NoError(t, err)
	require.True(t, d.Fenced)
}

// Search values expire with the delivery of their event, even if the event was dispatched or
// replayed later. An event whose day has expired gets no values, but is still dispatched.
func TestSearchValuesExpireWithTheirDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Payloads: 3 * day}
	values := func() int { return w.count(t, `SELECT count(*) FROM hooklatch.search_values`) }
	days := func() int {
		return w.count(t, `SELECT count(*) FROM pg_class WHERE relname ~ '^search_values_[0-9]{8}$' AND relkind = 'r'
			AND to_date(right(relname, 8), 'YYYYMMDD') < (now() AT TIME ZONE 'UTC')::date`)
	}
	w.accept(t, "a", "early", "late", "kept")
	w.dispatchSearched(t, "a", "early", "x", "y")
	w.pass(t, 2*day)
	w.keep(t, settings)
	require.Equal(t, 2, values())
	w.dispatchSearched(t, "a", "late", "x", "z")
	_, err := w.Inbox().Replay(t.Context(), ref("a", "early"), ann, inbox.ReplayOptions{})
	require.NoError(t, err)
	w.dispatchSearched(t, "a", "early", "x", "y", "new")
	require.Equal(t, 5, values(), "a replay adds only new values")

	w.pass(t, 2*day)
	report := w.keep(t, settings)
	require.True(t, report.Complete)
	require.Zero(t, values())
	require.LessOrEqual(t, days(), 4)
	require.NotEmpty(t, w.loaded(t, "a", "kept").Body, "the event waits for its dispatch")
	w.dispatchSearched(t, "a", "kept", "late value")
	require.Zero(t, values())
}
