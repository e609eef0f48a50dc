package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox"
)

// A pause holds for effects and outlives the breaker; who and why is shown.
func TestDestinationsArePausedAndResumed(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{})
	require.Regexp(t, `(?m)^app +http +dst_app +active +closed +0 +0 +-$`, must(t, s.args("destinations", "list")...))
	require.Equal(t, "app is paused\n", must(t, s.args("destinations", "pause", "app", "--reason", "they move house")...))
	require.Regexp(t, `(?m)^app +http +dst_app +paused +closed +0 +0 +paused by \S+ at .*: they move house$`, must(t, s.args("destinations", "list")...))

	o, err := outbox.New(outbox.Options{Pool: s.pool})
	require.NoError(t, err)
	require.NoError(t, o.Trip(t.Context(), "app", "10 attempts in a row failed", time.Hour))
	require.Regexp(t, `(?m)^app .* paused +open +0 +0 +paused by .*; breaker open since .*: 10 attempts in a row failed \(next probe .*\)$`, must(t, s.args("destinations", "list")...))
	require.NoError(t, o.CloseBreaker(t.Context(), "app"))
	var listed []destinationView
	require.NoError(t, json.Unmarshal([]byte(must(t, s.args("destinations", "list", "--json")...)), &listed))
	require.Equal(t, "app", listed[0].Name)
	require.True(t, listed[0].Paused)
	require.True(t, listed[0].OperatorPaused)
	require.True(t, listed[0].QueuePaused)
	require.Equal(t, outbox.BreakerClosed, listed[0].Breaker)
	require.Equal(t, systemUser(), listed[0].PausedBy)
	require.Equal(t, "they move house", listed[0].PauseReason)

	// What comes meanwhile waits, and can be parked.
	for _, id := range []string{"evt_1", "evt_2"} {
		must(t, s.args("send", "stripe", "--id", id)...)
	}
	require.Eventually(t, func() bool {
		return s.counts(t, 2, `SELECT count(*) FROM hooklatch.effects WHERE destination = 'app' AND state = 'pending'`)
	}, patience, tick)
	var effects []effectView
	require.NoError(t, json.Unmarshal([]byte(must(t, s.args("effects", "list", "--event", "stripe/evt_1", "--json")...)), &effects))
	var key string
	for _, e := range effects {
		if e.Destination == "app" {
			key = e.IdempotencyKey
		}
	}
	require.Equal(t, key+" is parked\n", must(t, s.args("effects", "park", key, "--reason", "ask Ann")...))
	require.Regexp(t, `(?m)^app .* closed +0 +1 +paused by `, must(t, s.args("destinations", "list")...))
	shown := must(t, s.args("effects", "show", key)...)
	require.Regexp(t, `(?m)^  \S+ \S+  pending$`, shown)
	require.Regexp(t, `(?m)^  \S+ \S+  pending -> parked: parked by \S+: ask Ann$`, shown)
	var parked effectView
	require.NoError(t, json.Unmarshal([]byte(must(t, s.args("effects", "show", key, "--json")...)), &parked))
	require.Equal(t, key, parked.WireKey)
	require.Len(t, parked.Transitions, 2)
	require.Equal(t, outbox.EffectParked, parked.Transitions[1].To)
	require.Zero(t, parked.Attempt)

	require.Equal(t, "app is resumed\n", must(t, s.args("destinations", "resume", "app")...))
	s.waitDone(t, "stripe", "evt_2")
	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("effects", "park", "hl_none")...))
	require.Contains(t, c.stderr.String(), "there is no effect with the key hl_none")
	for _, verb := range []string{"pause", "resume"} {
		c = command{}
		require.Equal(t, exitFailed, c.run(t.Context(), s.args("destinations", verb, "nobody")...))
		require.Contains(t, c.stderr.String(), "there is no destination nobody; see them with: hooklatch destinations list")
	}
}
