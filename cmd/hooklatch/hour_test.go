package main

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// withCommand returns the findings with a command to run.
func withCommand(c checked) []doctor.Finding {
	return slices.DeleteFunc(slices.Clone(c.Findings), func(f doctor.Finding) bool { return !strings.Contains(f.Fix, "run: hooklatch ") })
}

// A shop has a bad first evening: a receiver rejects requests, another is down, a route has a typo,
// a destination was paused and forgotten, a secret is wrong, and the database moves. The test
// repairs everything with only the commands that the program prints.
func TestTheHourOfANewUser(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	configured := receiving(refusing(t, &healed))

	first := newSystem(t, systemOptions{yaml: configured("typo")})
	for _, id := range []string{"evt_1", "evt_2"} {
		for _, words := range printed(must(t, first.args("send", "stripe", "--id", id)...)) {
			must(t, append(words, "--config", first.configPath)...)
		}
	}
	require.Eventually(t, func() bool {
		return first.counts(t, 6, `SELECT count(*) FROM hooklatch.effects WHERE state IN ('failed', 'parked')`)
	}, patience, tick)
	must(t, first.args("destinations", "pause", "slack", "--reason", "it is wrong")...)
	require.Eventually(t, func() bool {
		return first.counts(t, 1, `SELECT count(*) FROM hooklatch.known_addresses WHERE source = 'stripe'`)
	}, patience, tick)
	require.NoError(t, first.app.Stop(t.Context()))

	lost := newSystem(t, systemOptions{pool: first.pool, yaml: configured("id"), change: func(cfg *config.Config) {
		cfg.Sources["stripe"].Secrets[0].Value = secret.New("whsec_of-another-endpoint")
	}})
	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), lost.args("send", "stripe", "--id", "evt_3")...))
	require.Eventually(t, func() bool { return lost.counts(t, 1, `SELECT count(*) FROM hooklatch.rejected_deliveries`) }, patience, tick)
	require.NoError(t, lost.app.Stop(t.Context()))

	healed.Store(true)
	right := newSystem(t, systemOptions{pool: first.pool, yaml: configured("id")})
	followed := map[string]bool{}
	for range 5 {
		_, found := runCheck(t, right.args()...)
		for _, f := range withCommand(found) {
			followed[f.Check] = true
			carryOut(t, right, f)
		}
	}
	for _, check := range []string{"effects_failed", "effects_parked", "paused", "quarantine"} {
		require.True(t, followed[check], "check did not report %s", check)
	}
	require.Eventually(t, func() bool { return right.counts(t, 9, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`) }, patience, tick)
	require.True(t, right.counts(t, 9, `SELECT count(*) FROM hooklatch.effects`), "each route was used once for each event")
	_, found := runCheck(t, right.args()...)
	require.Empty(t, withCommand(found))

	_, err := right.pool.Exec(t.Context(), `UPDATE hooklatch.installation SET timeline = 0`)
	require.NoError(t, err)
	_, found = runCheck(t, right.args()...)
	require.Len(t, found.of("server"), 1)
	words := []string{"repair"}
	for range 3 { // each call prints the next command
		said := must(t, right.args(words...)...)
		if next := printed(said); len(next) > 0 {
			words = next[len(next)-1]
		}
	}
	_, found = runCheck(t, right.args()...)
	for _, f := range found.of("server") {
		require.Equal(t, doctor.OK, f.Level, f.Message)
	}
}
