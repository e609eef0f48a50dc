package operators

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// badReceivers starts a server with one path for each kind of failure.
func badReceivers(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(path string, status int, header ...string) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, "canned answer", status)
		})
	}
	answer("/error", http.StatusInternalServerError)
	answer("/busy", http.StatusTooManyRequests, "Retry-After", "120")
	answer("/refuses", http.StatusBadRequest)
	hanging, release := context.WithCancel(context.Background())
	mux.HandleFunc("POST /hangs", func(http.ResponseWriter, *http.Request) { <-hanging.Done() })
	mux.HandleFunc("POST /resets", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // applied, and then the connection breaks
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(release)
	return server
}

// Every receiver failure leads to the state that the ledger's protocol defines, and effects show
// prints it.
func TestEffectsOfBadReceivers(t *testing.T) {
	t.Parallel()
	server := badReceivers(t)
	down, err := freeport.Addresses(1)
	require.NoError(t, err)
	cases := []struct {
		name, url string
		policy    ledger.Policy
		state     ledger.EffectState
		applied   string
		status    int
		text      string // output of effects show
	}{
		{"down", "http://" + down[0] + "/", ledger.AtLeastOnce, ledger.EffectPending, "no", 0, "next attempt"},
		{"error", server.URL + "/error", ledger.AtLeastOnce, ledger.EffectInDoubt, "unknown", 500, "maybe applied   since"},
		{"error-once", server.URL + "/error", ledger.AtMostOnce, ledger.EffectParked, "unknown", 500, "set aside until an operator"},
		{"busy", server.URL + "/busy", ledger.AtLeastOnce, ledger.EffectPending, "no", 429, "next attempt"},
		{"refuses", server.URL + "/refuses", ledger.AtLeastOnce, ledger.EffectFailed, "no", 400, "refused it permanently"},
		{"hangs", server.URL + "/hangs", ledger.AtLeastOnce, ledger.EffectInDoubt, "unknown", 0, "maybe applied   since"},
		{"resets", server.URL + "/resets", ledger.AtLeastOnce, ledger.EffectInDoubt, "unknown", 0, "maybe applied   since"},
	}
	s := clitest.NewSystem(t, clitest.SystemOptions{YAML: func(settings *cli.DevSettings) string {
		var text, routes strings.Builder
		fmt.Fprintf(&text, `
database: {url: %s}
gateway: {listen: "127.0.0.1:0"}
admin: {listen: "localhost:0"}
sources: {stripe: {provider: stripe, secrets: [%s]}}
destinations:
`, firstrun.Scalar(settings.Database.Reveal()), firstrun.Scalar(settings.Secrets["stripe"].Reveal()))
		routes.WriteString("routes:\n")
		for _, c := range cases {
			timeout := "1m" // so that no response is late on a busy machine
			if c.name == "hangs" {
				timeout = "10s" // enough to connect and write
			}
			fmt.Fprintf(&text, "  %s: {http: {url: %s}, timeout: %s, policy: %s, retry: {initial: 10m, max: 1h}}\n", c.name, firstrun.Scalar(c.url), timeout, c.policy)
			fmt.Fprintf(&routes, "  - {name: %s, from: stripe, to: %s}\n", c.name, c.name)
		}
		return text.String() + routes.String()
	}})
	_, sent := s.SendJSON(t, "stripe")
	require.Equal(t, 1, sent.Accepted)
	require.Eventually(t, func() bool {
		return s.Counts(t, len(cases), `SELECT count(*) FROM hooklatch.effects WHERE attempt = 1 AND state <> 'started'`)
	}, clitest.Patience, clitest.Tick, "every effect was attempted once")

	keys := map[string]string{}
	var listed []ledger.Effect
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("effects", "list", "--event", "stripe/"+sent.EventID, "--json")...)), &listed))
	require.Len(t, listed, len(cases))
	for _, e := range listed {
		keys[e.Destination] = e.IdempotencyKey
	}
	for _, c := range cases { //nolint:paralleltest // the retries below change the effects of these cases
		t.Run(c.name, func(t *testing.T) {
			var e struct {
				ledger.Effect
				life.History
			}
			require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args("effects", "show", keys[c.name], "--json")...)), &e))
			require.Equal(t, c.state, e.State)
			require.Equal(t, c.status, e.ResponseStatus)
			require.Len(t, e.Attempts, 1)
			require.Equal(t, c.applied, e.Attempts[0].Applied)
			require.Equal(t, c.applied == "unknown", !e.MaybeAppliedSince.IsZero())
			require.Equal(t, c.state == ledger.EffectPending || c.state == ledger.EffectInDoubt, !e.NextAttemptAt.IsZero())
			if c.name == "busy" {
				require.GreaterOrEqual(t, e.NextAttemptAt.Sub(e.Attempts[0].FinishedAt), 2*time.Minute)
			}
			text := clitest.Must(t, s.Args("effects", "show", keys[c.name])...)
			require.Contains(t, text, c.text)
			require.Contains(t, text, "attempt 1, ")
			require.Contains(t, text, "applied: "+c.applied+", then "+string(c.state))
		})
	}

	// An operator can retry a failed effect and cancel a pending effect, but not retry one in
	// doubt.
	require.Equal(t, keys["refuses"]+" is tried again\n", clitest.Must(t, s.Args("effects", "retry", keys["refuses"])...))
	require.Eventually(t, func() bool {
		return s.Counts(t, 2, `SELECT attempt FROM hooklatch.effects WHERE idempotency_key = $1 AND state = 'failed'`, keys["refuses"])
	}, clitest.Patience, clitest.Tick)
	require.Equal(t, keys["down"]+" is cancelled\n", clitest.Must(t, s.Args("effects", "cancel", keys["down"], "--reason", "no longer needed")...))
	require.Contains(t, clitest.Must(t, s.Args("effects", "show", keys["down"])...), "no longer needed")
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("effects", "retry", keys["error"])...))
	require.Contains(t, c.Stderr.String(), "the effect is in doubt: it will be attempted anyway")
	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("effects", "show", "hl_none")...))
	require.Contains(t, c.Stderr.String(), "no effect has the key hl_none")
	require.Contains(t, clitest.Must(t, s.Args("effects", "list", "--state", "parked")...), "error-once")
	_, found := clitest.RunCheck(t, "--config", s.ConfigPath)
	require.Equal(t, doctor.Warning, found.Of("effects_parked")[0].Level)
}
