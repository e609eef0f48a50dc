package operators

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// The gateway has a wrong secret and refuses deliveries. The commands have the right secret, and
// accept these deliveries.
func TestRefusedDeliveriesAreRetriedAndDropped(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{Change: func(cfg *config.Config) { // changes only the gateway; the commands have the right secret
		stripe := cfg.Sources["stripe"]
		stripe.Secrets = []config.Secret{{Value: secret.New("whsec_not_the_right_one_0123")}}
		cfg.Sources["stripe"] = stripe
	}})
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		var c clitest.Command
		require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("send", "stripe", "--id", id, "--type", "invoice.paid")...))
	}
	require.Eventually(t, func() bool {
		return s.Count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`) == 3
	}, clitest.Patience, clitest.Tick)

	var listed []quarantine.Delivery
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("quarantine", "list", "--source", "stripe", "--json")...)), &listed))
	require.Len(t, listed, 3)
	require.Contains(t, clitest.Must(t, s.Args("quarantine", "list")...), "wrong_signature")
	require.Equal(t, "no refused deliveries\n", clitest.Must(t, s.Args("quarantine", "list", "--refused-for", "missing_signature")...))
	id, dropped := "", ""
	for _, d := range listed { // deliveries that arrive together are kept in any order
		raw := clitest.Must(t, s.Args("quarantine", "show", d.ID.String(), "--raw")...)
		switch {
		case strings.Contains(raw, `"evt_1"`):
			id = d.ID.String()
		case strings.Contains(raw, `"evt_3"`):
			dropped = d.ID.String()
		}
	}
	require.Contains(t, clitest.Must(t, s.Args("quarantine", "show", id)...), "POST /webhooks/stripe")

	preview := clitest.Must(t, s.Args("quarantine", "retry", "--source", "stripe")...)
	require.True(t, strings.HasPrefix(preview, "3 refused deliveries selected\n"), preview)
	require.Contains(t, preview, "retry them with the same command and --yes")
	require.Equal(t, "1 refused delivery dropped\n", clitest.Must(t, s.Args("quarantine", "drop", dropped, "--as", "ann")...))
	require.Equal(t, "1 refused delivery accepted, including 0 duplicates\n", clitest.Must(t, s.Args("quarantine", "retry", id, "--as", "ann")...))
	s.WaitDone(t, "stripe", "evt_1")
	require.Eventually(t, func() bool { // the gateway's process, with the wrong secret, may carry out a run
		out := clitest.Must(t, s.Args("quarantine", "retry", "--yes", "--as", "ann", "--reason", "the secret is right")...)
		return out == "1 refused delivery accepted, including 0 duplicates\n"
	}, clitest.Patience, clitest.Tick)
	s.WaitDone(t, "stripe", "evt_2")
	run := s.Count(t, `SELECT max(id) FROM hooklatch.replay_runs`)
	require.Contains(t, clitest.Must(t, s.Args("runs", "show", strconv.Itoa(run))...), "1 of 1 refused delivery accepted, including 0 duplicates")
	require.JSONEq(t, fmt.Sprintf(`{"action":"quarantine.retry","run":%d,"accepted":0,"duplicates":0,"refused":{}}`, run+1), clitest.Must(t, s.Args("quarantine", "retry", "--yes", "--json")...))
	require.JSONEq(t, fmt.Sprintf(`{"action":"quarantine.drop","run":%d,"dropped":0}`, run+2), clitest.Must(t, s.Args("quarantine", "drop", "--yes", "--json")...))
	require.Zero(t, s.Count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`))
	require.Equal(t, 2, s.Count(t, `SELECT count(*) FROM hooklatch.processed_events`))

	audit := clitest.Must(t, s.Args("audit")...)
	for _, text := range []string{"quarantine.retry", "quarantine.drop", "the secret is right", id} {
		require.Contains(t, audit, text)
	}
	for _, wrong := range [][]string{{"quarantine", "retry", "x"}, {"quarantine", "drop", id, "--source", "stripe"}, {"quarantine", "retry", id, "--detach"}} {
		var c clitest.Command
		require.Equal(t, cli.ExitMisused, c.Run(t.Context(), s.Args(wrong...)...))
	}
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("quarantine", "show", id)...))
	require.Contains(t, c.Stderr.String(), "no delivery in quarantine has the id "+id)
}
