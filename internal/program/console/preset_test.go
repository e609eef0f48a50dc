package console_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
)

// A preset fills in the beginning of the time range, in the user's time zone, clears its end, and
// keeps the other fields.
func TestPresetsFillInTheTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 30, 0, 0, time.UTC)
	b := setup(t, func(o *console.Options) { o.Now = func() time.Time { return now } })
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.workers (id, started_at, config_hash, destinations, queues) VALUES
		('old', '2026-11-18T08:00:00Z', '', '{}', '{}'), ('new', '2026-11-20T09:15:00Z', '', '{}', '{}')`)
	require.NoError(t, err)
	b.page(t, "/") // reads the status
	presets := func(page string) map[string]string {
		list := map[string]string{}
		for _, n := range nodes(t, page) {
			if n.Data == "a" && n.Parent != nil && attribute(n.Parent, "class") == "presets" {
				list[wordsOf(n)] = attribute(n, "href")
			}
		}
		return list
	}
	for _, path := range []string{"/events", "/effects", "/audit"} {
		require.Equal(t, map[string]string{
			"Last hour": "?since=1h", "Last 24 hours": "?since=24h", "Today": "?since=2026-11-21T00%3A00%3A00Z", "Since the last deploy": "?since=2026-11-20T09%3A15%3A00Z",
		}, presets(b.page(t, path)), path)
	}
	page := b.page(t, "/events?type=invoice.paid&until=2026-11-20&before=7")
	require.Equal(t, "?since=1h&type=invoice.paid", presets(page)["Last hour"])
	require.Contains(t, b.page(t, "/events?since=1h"), `<a href="?since=1h" aria-current="true">Last hour</a>`)
	require.Equal(t, http.StatusOK, b.get("/events"+presets(page)["Since the last deploy"]).Code)
}

// Times in lists are relative, with the absolute time in the tooltip.
func TestTimesInListsAreRelative(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) {
		o.Now = func() time.Time { return time.Now().Add(3*time.Hour + 12*time.Minute + time.Second) }
	})
	b.failed(t, "evt_1")
	for _, path := range []string{"/events", "/effects"} {
		page := b.page(t, path)
		require.Regexp(t, `<time datetime="[0-9TZ:.-]+" title="[0-9 :.-]+ UTC · [0-9 :.-]+ UTC" data-ago>3 h 12 min ago</time>`, page)
	}
}
