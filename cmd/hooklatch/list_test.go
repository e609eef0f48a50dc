package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A list that has more rows than its limit says so.
func TestAListSaysThatItWasCut(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{NoWorker: true, Change: func(cfg *config.Config) { // only the gateway has this secret
		stripe := cfg.Sources["stripe"]
		stripe.Secrets = []config.Secret{{Value: secret.New("whsec_not_the_right_one_0123")}}
		cfg.Sources["stripe"] = stripe
	}})
	for range 3 {
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("send", "stripe")...))
		clitest.Must(t, s.Args("events", "replay", "--state", "skipped", "--yes", "--detach")...)
	}
	require.Eventually(t, func() bool { return s.Counts(t, 3, `SELECT count(*) FROM hooklatch.rejected_deliveries`) }, clitest.Patience, clitest.Tick)
	for _, list := range []string{"quarantine list", "runs list"} {
		for limit, cut := range map[string]bool{"2": true, "3": false, "50": false} {
			var c clitest.Command
			require.Zero(t, c.Run(t.Context(), s.Args(append(strings.Fields(list), "--limit", limit)...)...))
			require.Equal(t, cut, strings.Contains(c.Stderr.String(), "--limit"), "%s --limit %s: %s", list, limit, c.Stderr.String())
		}
		var c clitest.Command
		require.Zero(t, c.Run(t.Context(), s.Args(append(strings.Fields(list), "--limit", "2", "--json")...)...))
		require.Contains(t, c.Stderr.String(), "--limit")
	}
}

// A cursor that does not belong to a list is a mistake in the command line.
func TestACursorOfAnotherListIsMisuse(t *testing.T) {
	t.Parallel()
	path := clitest.WriteConfig(t, pgtest.URL(t, pgtest.New(t)))
	for _, list := range []string{"events list", "effects list", "events export", "audit", "find text", "routes diff " + path} {
		var c clitest.Command
		require.Equal(t, cli.ExitMisused, c.Run(t.Context(), append(strings.Fields(list), "--cursor", "nonsense", "--config", path)...), "%s: %s", list, c.Stderr.String())
		require.Contains(t, c.Stderr.String(), "--cursor", list)
	}
}
