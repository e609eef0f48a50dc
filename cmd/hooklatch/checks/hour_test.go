package checks

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// withCommand returns the findings with a command to run.
func withCommand(c clitest.Checked) []doctor.Finding {
	return slices.DeleteFunc(slices.Clone(c.Findings), func(f doctor.Finding) bool { return !strings.Contains(f.Fix, "run: hooklatch ") })
}

// A shop has a bad first evening. A receiver rejects requests, another is down, and a route has a
// typo. A destination was paused and forgotten, a secret is wrong, and the database moves. The test
// repairs everything with only the commands that the program prints.
func TestTheHourOfANewUser(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	configured := receiving(refusing(t, &healed))

	first := clitest.NewSystem(t, clitest.SystemOptions{YAML: configured("typo")})
	for _, id := range []string{"evt_1", "evt_2"} {
		for _, words := range printed(clitest.Must(t, first.Args("send", "stripe", "--id", id)...)) {
			clitest.Must(t, append(words, "--config", first.ConfigPath)...)
		}
	}
	require.Eventually(t, func() bool {
		return first.Counts(t, 6, `SELECT count(*) FROM hooklatch.effects WHERE state IN ('failed', 'parked')`)
	}, clitest.Patience, clitest.Tick)
	clitest.Must(t, first.Args("destinations", "pause", "slack", "--reason", "it is wrong")...)
	require.Eventually(t, func() bool {
		return first.Counts(t, 1, `SELECT count(*) FROM hooklatch.known_addresses WHERE source = 'stripe'`)
	}, clitest.Patience, clitest.Tick)
	require.NoError(t, first.App.Stop(t.Context()))

	lost := clitest.NewSystem(t, clitest.SystemOptions{Pool: first.Pool, YAML: configured("id"), Change: func(cfg *config.Config) {
		cfg.Sources["stripe"].Secrets[0].Value = secret.New("whsec_of-another-endpoint")
	}})
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), lost.Args("send", "stripe", "--id", "evt_3")...))
	require.Eventually(t, func() bool { return lost.Counts(t, 1, `SELECT count(*) FROM hooklatch.rejected_deliveries`) }, clitest.Patience, clitest.Tick)
	require.NoError(t, lost.App.Stop(t.Context()))

	healed.Store(true)
	right := clitest.NewSystem(t, clitest.SystemOptions{Pool: first.Pool, YAML: configured("id")})
	followed := map[string]bool{}
	for range 5 {
		_, found := clitest.RunCheck(t, right.Args()...)
		for _, f := range withCommand(found) {
			followed[f.Check] = true
			carryOut(t, right, f)
		}
	}
	for _, check := range []string{"effects_failed", "effects_parked", "paused", "quarantine"} {
		require.True(t, followed[check], "check did not report %s", check)
	}
	require.Eventually(t, func() bool { return right.Counts(t, 9, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`) }, clitest.Patience, clitest.Tick)
	require.True(t, right.Counts(t, 9, `SELECT count(*) FROM hooklatch.effects`), "each route was used once for each event")
	_, found := clitest.RunCheck(t, right.Args()...)
	require.Empty(t, withCommand(found))

	_, err := right.Pool.Exec(t.Context(), `UPDATE hooklatch.installation SET timeline = 0`)
	require.NoError(t, err)
	_, found = clitest.RunCheck(t, right.Args()...)
	require.Len(t, found.Of("server"), 1)
	words := []string{"repair"}
	for range 3 { // each call prints the next command
		said := clitest.Must(t, right.Args(words...)...)
		if next := printed(said); len(next) > 0 {
			words = next[len(next)-1]
		}
	}
	_, found = clitest.RunCheck(t, right.Args()...)
	for _, f := range found.Of("server") {
		require.Equal(t, doctor.OK, f.Level, f.Message)
	}
}
