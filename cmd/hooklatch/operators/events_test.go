package operators

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// Requested work begins immediately: the command notifies workers before it exits.
func TestWorkersAreToldOfWhatIsOrdered(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	s.WaitDone(t, "stripe", "evt_1")
	require.NoError(t, s.App.Stop(t.Context())) // the stopped App no longer notifies workers
	conn, err := s.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), `LISTEN "hooklatch.river_insert"`)
	require.NoError(t, err)
	clitest.Must(t, s.Args("events", "replay", "stripe/evt_1")...)
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	told, err := conn.Conn().WaitForNotification(ctx)
	require.NoError(t, err)
	require.JSONEq(t, `{"queue": "dispatch"}`, told.Payload)
}

func TestReplayAppliesLaterRoutes(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{Change: func(cfg *config.Config) { cfg.Routes, cfg.AllowEmpty = nil, true }})
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		clitest.Must(t, s.Args("send", "stripe", "--id", id)...)
	}
	skipped := func(n int) bool {
		return s.Counts(t, n, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = $1`, inbox.Skipped)
	}
	require.Eventually(t, func() bool { return skipped(3) }, clitest.Patience, clitest.Tick)
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "stripe", "evt_1")...), "no route and no handler matched it")
	require.NoError(t, s.App.Stop(t.Context()))

	require.Regexp(t, `^3 events selected\n\nRECEIVED .*\n(\S+ \S+ +stripe/evt_\d .* skipped +2 new effects created, 0 tried again\n){3}\nreplay them with the same command and --yes\n$`,
		clitest.Must(t, s.Args("events", "replay", "--state", "skipped")...))
	require.Contains(t, clitest.Must(t, s.Args("events", "list", "--since", "1h")...), "evt_3")
	require.Equal(t, "no events\n", clitest.Must(t, s.Args("events", "list", "--since", "2126-01-01")...))
	preview := clitest.Must(t, s.Args("events", "replay", "--state", "skipped", "--when", `body.id != "evt_2"`)...)
	require.Regexp(t, `^2 events selected\n\nRECEIVED .*\n.*stripe/evt_1 .*\n.*stripe/evt_3 .*\n\nreplay them`, preview)
	require.Contains(t, clitest.Must(t, s.Args("events", "replay", "--state", "skipped", "--when", `body.none > 1`)...),
		"0 events selected\n3 more left out: --when failed; first error: ")
	var view cli.ReplayView
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("events", "replay", "--state", "skipped", "--json")...)), &view))
	require.True(t, view.Preview)
	require.Equal(t, int64(3), view.Selected)
	require.Len(t, view.Sample, 3)
	require.True(t, skipped(3))
	require.Equal(t, "0 events replayed, 0 effects tried again\n",
		clitest.Must(t, s.Args("events", "replay", "--state", "skipped", "--when", `event.id == "evt_none"`, "--yes")...))
	require.Equal(t, "1 event replayed, 0 effects tried again\n",
		clitest.Must(t, s.Args("events", "replay", "--state", "skipped", "--when", `body.id == "evt_2"`, "--yes")...))
	require.True(t, skipped(2))
	require.Equal(t, 2, s.Count(t, `SELECT count(*) FROM hooklatch.replay_runs WHERE filter::text LIKE '%sha256:%' AND filter::text NOT LIKE '%evt_%'`),
		"a run that has ended stores only hashes of the values in its condition")
	require.Zero(t, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'event.replay' AND concat(target, filter) LIKE '%"evt_%'`))
	require.Equal(t, "2 events replayed, 0 effects tried again\n", clitest.Must(t, s.Args("events", "replay", "--state", "skipped", "--source", "stripe", "--yes")...))
	require.Equal(t, 3, s.Count(t, `SELECT count(*) FROM hooklatch.event_replays WHERE requested_by <> ''`))

	later := clitest.NewSystem(t, clitest.SystemOptions{Pool: s.Pool})
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		later.WaitDone(t, "stripe", id)
	}
	require.Len(t, later.Receiver.Seen(), 3)

	// Done effects stay done; with new keys they are created again. The preview shows both.
	require.Regexp(t, `stripe/evt_1 .* 0 new effects created, 0 tried again\n`, clitest.Must(t, later.Args("events", "replay", "--source", "stripe")...))
	require.Regexp(t, `stripe/evt_1 .* 2 new effects created, 0 tried again\n`, clitest.Must(t, later.Args("events", "replay", "--source", "stripe", "--new-keys")...))
	// One event is replayed with new keys.
	require.Contains(t, clitest.Must(t, later.Args("events", "replay", "stripe/evt_1", "--new-keys")...),
		"stripe/evt_1 will be dispatched again, generation 3; 0 effects will be tried again, 2 new effects will be created with the current routes\n")
	require.Eventually(t, func() bool { return len(later.Receiver.Seen()) == 4 }, clitest.Patience, clitest.Tick)
	later.WaitDone(t, "stripe", "evt_1")

	// Only one route is dispatched.
	require.Regexp(t, `stripe/evt_1 .* 1 new effect created, 0 tried again\n`, clitest.Must(t, later.Args("events", "replay", "--route", "everything", "--new-keys")...))
	require.Contains(t, clitest.Must(t, later.Args("events", "replay", "stripe/evt_1", "--route", "everything", "--new-keys")...),
		"generation 4; 0 effects will be tried again, 1 new effect will be created with the current routes\n")
	require.Eventually(t, func() bool { return len(later.Receiver.Seen()) == 5 }, clitest.Patience, clitest.Tick)
	require.Contains(t, clitest.Must(t, later.Args("events", "show", "stripe/evt_1")...), "generation 4, with new keys, only route everything")
	require.Equal(t, "3 events replayed, 0 effects tried again\n", clitest.Must(t, later.Args("events", "replay", "--route", "everything", "--new-keys", "--yes")...))
	require.Eventually(t, func() bool { return len(later.Receiver.Seen()) == 8 }, clitest.Patience, clitest.Tick)
	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), later.Args("events", "replay", "--route", "everyhing")...))
	require.Contains(t, c.Stderr.String(), `--route "everyhing": the configuration has no such route`)
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), later.Args("events", "replay", "stripe", "evt_none")...))
	require.Contains(t, c.Stderr.String(), "no event is stored as stripe/evt_none")
}

// An interrupt pauses a replay between two events and prints its progress.
func TestReplayIsPacedAndInterrupted(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{Change: func(cfg *config.Config) { cfg.Routes, cfg.AllowEmpty = nil, true }})
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		clitest.Must(t, s.Args("send", "stripe", "--id", id)...)
	}
	require.Eventually(t, func() bool {
		return s.Counts(t, 3, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'skipped'`)
	}, clitest.Patience, clitest.Tick)
	require.Equal(t, "0 events selected\n", clitest.Must(t, s.Args("events", "replay", "--until", "2026-01-01")...))
	require.Contains(t, clitest.Must(t, s.Args("events", "replay", "--since", "24h", "--source", "stripe")...), "3 events selected\n")

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var c clitest.Command
	ended := make(chan int)
	go func() {
		ended <- c.Run(ctx, s.Args("events", "replay", "--since", "24h", "--rate", "0.001", "--yes")...)
	}()
	require.Eventually(t, func() bool {
		return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.event_replays`)
	}, clitest.Patience, clitest.Tick)
	interrupt()
	require.Equal(t, cli.ExitFailed, <-ended)
	require.Equal(t, "1 of 3 events replayed, 0 effects tried again\n", c.Stdout.String())
	require.Contains(t, c.Stderr.String(), "run 1: replay events\n")
	require.Contains(t, c.Stderr.String(), s.Printed("paused; resume it with:\n  hooklatch runs resume 1\nhooklatch: interrupted\n"))
	require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.event_replays`))
	require.Equal(t, "interrupted", s.Text(t, `SELECT reason FROM hooklatch.operator_log WHERE action = 'run.pause'`))
}
