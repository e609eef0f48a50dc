package retention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/retention"
)

// imported registers keys that another system accepted for a source: one key a day for the given
// number of days, the newest an hour old.
func (w *world) imported(t *testing.T, source string, days int) {
	t.Helper()
	now := w.now(t)
	keys := make([]inbox.ImportedKey, days)
	for i := range keys {
		keys[i] = inbox.ImportedKey{
			EventID: identity.EventID(fmt.Sprintf("imported-%d-%d", now.Unix(), i)), ReceivedAt: now.Add(-time.Duration(i)*day - time.Hour),
		}
	}
	_, err := w.Inbox().ImportKeys(t.Context(), identity.Source(source), keys, ann, nil)
	require.NoError(t, err)
}

// Retention deletes imported keys after the same period as their source's events, in whatever order
// they were imported. Imported keys do not delay the deletion of events.
func TestImportedKeysAreForgottenAfterTheirTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 5 * day, "b": 20 * day}}
	past := `SELECT count(*) FROM hooklatch.processed_events WHERE source = $1 AND received_at < now() - $2 * interval '1 day'`
	w.imported(t, "a", 10)
	w.imported(t, "b", 10) // the keys of b precede the keys of a, and expire later
	for today := range 15 {
		w.pass(t, day)
		w.done(t, "a", fmt.Sprint("done-", today))
		if today == 4 {
			w.imported(t, "a", 10)
		}
		require.False(t, w.keep(t, settings).Stopped)
		if today > 0 && today != 4 {
			require.Zero(t, w.count(t, past, "a", 6), "day %d", today)
		}
	}
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a' AND accept_seq < 0`))
	require.Equal(t, 5, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'a' AND accept_seq > 0`), "imported keys do not delay the deletion of events")
	require.Equal(t, 5, w.count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = 'b'`), "the newer half of b's keys stays")
	require.Zero(t, w.count(t, `SELECT count(*) FROM hooklatch.events_kept`))
}

// A setting shortened by mistake deletes no imported keys until an operator approves.
func TestAShortenedSettingForgetsNoImportedKeyUntilAPersonSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.imported(t, "a", 30)
	settings := retention.Settings{Dedup: map[identity.Source]time.Duration{"a": 60 * day}}
	for range 2 {
		require.False(t, w.keep(t, settings).Stopped)
		w.pass(t, day)
	}
	settings.Dedup["a"] = 7 * day
	require.True(t, w.keep(t, settings).Stopped)
	require.Equal(t, 30, w.count(t, `SELECT count(*) FROM hooklatch.processed_events`))
	planned, err := w.Retention().Plan(t.Context(), settings)
	require.NoError(t, err)
	report, err := w.Retention().Run(t.Context(), retention.Order{Settings: settings, Approved: &ann})
	require.NoError(t, err)
	left := w.count(t, `SELECT count(*) FROM hooklatch.processed_events`)
	require.InDelta(t, 5, left, 1)
	for _, parts := range [][]retention.Part{planned.Parts, report.Parts} {
		rows := int64(0)
		for _, p := range parts {
			if p.What == retention.Imports {
				rows += p.Rows
			}
		}
		require.EqualValues(t, 30-left, rows)
	}
}
