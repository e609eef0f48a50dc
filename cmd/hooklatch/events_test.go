package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/outbox"
)

func TestReplayAppliesLaterRoutes(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{change: func(cfg *config.Config) { cfg.Routes = nil }})
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		must(t, s.args("send", "stripe", "--id", id)...)
	}
	skipped := func(n int) bool {
		return s.counts(t, n, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = $1`, outbox.EventSkipped)
	}
	require.Eventually(t, func() bool { return skipped(3) }, patience, tick)
	require.Contains(t, must(t, s.args("events", "show", "stripe", "evt_1")...), "no route and no handler wanted it")
	require.NoError(t, s.app.Stop(t.Context()))

	require.Equal(t, "3 events skipped\nreplay them with the same command and --yes\n", must(t, s.args("events", "replay", "--state", "skipped")...))
	require.True(t, skipped(3))
	require.Equal(t, "3 events replayed, 0 effects tried again\n", must(t, s.args("events", "replay", "--state", "skipped", "--source", "stripe", "--yes")...))
	require.Equal(t, 3, s.count(t, `SELECT count(*) FROM hooklatch.event_replays WHERE requested_by <> ''`))

	later := newSystem(t, systemOptions{pool: s.pool})
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		later.waitDone(t, "stripe", id)
	}
	require.Len(t, later.receiver.Seen(), 3)

	// One by one, with new keys.
	require.Contains(t, must(t, later.args("events", "replay", "stripe/evt_1", "--new-keys")...), "stripe/evt_1 is dispatched again, generation 3")
	require.Eventually(t, func() bool { return len(later.receiver.Seen()) == 4 }, patience, tick)
	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), later.args("events", "replay", "stripe", "evt_none")...))
	require.Contains(t, c.stderr.String(), "there is no event stripe/evt_none")
}
