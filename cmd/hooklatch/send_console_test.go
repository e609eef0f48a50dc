package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// sendByAPI sends a test event through the console's API, and returns the status and the body of
// the response.
func sendByAPI(t *testing.T, s *clitest.System, source, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Admin+"/api/sources/"+source+"/send", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", s.Admin)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	return response.StatusCode, clitest.GetBody(t, response.Body)
}

// The console signs as every provider does: the gateway verifies and stores the event, and the
// worker dispatches it like any other. The command `events show` lists the operator action.
func TestTheConsoleSendsATestEventOfEveryProvider(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	for _, source := range cli.DevSourceNames() {
		var code int
		var body string
		require.Eventually(t, func() bool { // the console sends at most one test event a second
			code, body = sendByAPI(t, s, source, `{"reason":"a first try"}`)
			return code != http.StatusTooManyRequests
		}, clitest.Patience, clitest.Tick)
		require.Equal(t, http.StatusOK, code, body)
		var sent struct {
			EventID string `json:"event_id"`
			Status  int
			Result  string
			Error   string
		}
		require.NoError(t, json.Unmarshal([]byte(body), &sent))
		require.Equal(t, "accepted", sent.Result, "%s: %s", source, body)
		require.NotEmpty(t, sent.EventID, source)
		s.WaitDone(t, source, sent.EventID)
		require.Contains(t, clitest.Must(t, s.Args("events", "show", source, sent.EventID)...), "source.send", source)
	}
	require.Equal(t, len(cli.DevSourceNames()), s.Count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'source.send' AND reason = 'a first try'`))
}

// The response says that the gateway cannot be reached, or that the configuration turns test events
// off.
func TestTestEventsThatReachNoGateway(t *testing.T) {
	t.Parallel()
	away := clitest.NewSystem(t, clitest.SystemOptions{NoGateway: true, Change: func(cfg *config.Config) { cfg.Admin.TestEvents = "http://127.0.0.1:1" }})
	code, body := sendByAPI(t, away, "stripe", `{}`)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `"status":0`)
	require.Contains(t, body, "connection refused")
	require.NotContains(t, body, "Post ")
	off := clitest.NewSystem(t, clitest.SystemOptions{NoGateway: true, Change: func(cfg *config.Config) { cfg.Admin.TestEvents = config.TestEventsOff }})
	code, body = sendByAPI(t, off, "stripe", `{}`)
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, body, "The configuration has admin.test_events: off.")
	require.Zero(t, off.Count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE action = 'source.send'`))
}
