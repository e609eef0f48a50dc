package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// The gateway has a wrong secret and refuses deliveries. The commands have the right secret, and
// accept these deliveries.
func TestRefusedDeliveriesAreRetriedAndDropped(t *testing.T) {
	t.Parallel()
	s := newSystem(t, systemOptions{change: func(cfg *config.Config) { // changes only the gateway; the commands have the right secret
		stripe := cfg.Sources["stripe"]
		stripe.Secrets = []config.Secret{{Value: secret.New("whsec_not_the_right_one_0123")}}
		cfg.Sources["stripe"] = stripe
	}})
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		var c command
		require.Equal(t, exitFailed, c.run(t.Context(), s.args("send", "stripe", "--id", id, "--type", "invoice.paid")...))
	}
	require.Eventually(t, func() bool {
		return s.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`) == 3
	}, patience, tick)

	var listed []quarantine.Delivery
	require.NoError(t, json.Unmarshal([]byte(must(t, s.args("quarantine", "list", "--source", "stripe", "--json")...)), &listed))
	require.Len(t, listed, 3)
	require.Contains(t, must(t, s.args("quarantine", "list")...), "wrong_signature")
	require.Equal(t, "no refused deliveries\n", must(t, s.args("quarantine", "list", "--refused-for", "missing_signature")...))
	id, dropped := "", ""
	for _, d := range listed { // deliveries that arrive together are kept in any order
		raw := must(t, s.args("quarantine", "show", d.ID.String(), "--raw")...)
		switch {
		case strings.Contains(raw, `"evt_1"`):
			id = d.ID.String()
		case strings.Contains(raw, `"evt_3"`):
			dropped = d.ID.String()
		}
	}
	require.Contains(t, must(t, s.args("quarantine", "show", id)...), "POST /webhooks/stripe")

	preview := must(t, s.args("quarantine", "retry", "--source", "stripe")...)
	require.True(t, strings.HasPrefix(preview, "3 refused deliveries selected\n"), preview)
	require.Contains(t, preview, "retry them with the same command and --yes")
	require.Equal(t, "1 refused delivery dropped\n", must(t, s.args("quarantine", "drop", dropped, "--as", "ann")...))
	require.Equal(t, "1 refused delivery accepted, including 0 duplicates\n", must(t, s.args("quarantine", "retry", id, "--as", "ann")...))
	s.waitDone(t, "stripe", "evt_1")
	require.Eventually(t, func() bool { // the gateway's process, with the wrong secret, may carry out a run
		out := must(t, s.args("quarantine", "retry", "--yes", "--as", "ann", "--reason", "the secret is right")...)
		return out == "1 refused delivery accepted, including 0 duplicates\n"
	}, patience, tick)
	s.waitDone(t, "stripe", "evt_2")
	run := s.count(t, `SELECT max(id) FROM hooklatch.replay_runs`)
	require.Contains(t, must(t, s.args("runs", "show", strconv.Itoa(run))...), "1 of 1 refused delivery accepted, including 0 duplicates")
	require.JSONEq(t, fmt.Sprintf(`{"action":"quarantine.retry","run":%d,"accepted":0,"duplicates":0,"refused":{}}`, run+1), must(t, s.args("quarantine", "retry", "--yes", "--json")...))
	require.JSONEq(t, fmt.Sprintf(`{"action":"quarantine.drop","run":%d,"dropped":0}`, run+2), must(t, s.args("quarantine", "drop", "--yes", "--json")...))
	require.Zero(t, s.count(t, `SELECT count(*) FROM hooklatch.rejected_deliveries`))
	require.Equal(t, 2, s.count(t, `SELECT count(*) FROM hooklatch.processed_events`))

	audit := must(t, s.args("audit")...)
	for _, text := range []string{"quarantine.retry", "quarantine.drop", "the secret is right", id} {
		require.Contains(t, audit, text)
	}
	for _, wrong := range [][]string{{"quarantine", "retry", "x"}, {"quarantine", "drop", id, "--source", "stripe"}, {"quarantine", "retry", id, "--detach"}} {
		var c command
		require.Equal(t, exitMisused, c.run(t.Context(), s.args(wrong...)...))
	}
	var c command
	require.Equal(t, exitFailed, c.run(t.Context(), s.args("quarantine", "show", id)...))
	require.Contains(t, c.stderr.String(), "no delivery in quarantine has the id "+id)
}
