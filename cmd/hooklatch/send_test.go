package main_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/demo"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// For each provider of dev, many simultaneous deliveries of one event are stored as one event, and
// each of its effects is attempted once.
func TestSendManyTimesIsOneEventAndOneEffect(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	eventTypes := map[string]string{"stripe": "invoice.paid"}
	for _, source := range cli.DevSourceNames() { //nolint:paralleltest // each test already sends 64 in parallel
		t.Run(source, func(t *testing.T) {
			args := []string{"send", source, "--times", "340", "--parallel", "64", "--json"}
			if eventType := eventTypes[source]; eventType != "" {
				args = append(args, "--type", eventType)
			}
			var r cli.Report
			require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, s.Args(args...)...)), &r))
			require.Equal(t, 340, r.Answers)
			require.Equal(t, map[string]int{"2xx": 340}, r.ByStatus)
			require.Equal(t, 1, r.Accepted)
			require.Equal(t, 339, r.Duplicates)
			require.Positive(t, r.P50)

			s.WaitDone(t, source, r.EventID)
			require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.processed_events WHERE source = $1`, source))
			require.Eventually(t, func() bool {
				return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND state = 'completed' AND args ->> 'source' = $1`, source)
			}, clitest.Patience, clitest.Tick)
			require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.river_job WHERE kind = 'dispatch' AND args ->> 'source' = $1`, source),
				"one job went with the dispatch; another would have found nothing to do, and still be there")
			require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.deliveries WHERE source = $1`, source))
			require.Equal(t, 0, s.Count(t, `SELECT count(*) FROM hooklatch.effects WHERE source = $1 AND attempt <> 1`, source))
			var seen []demo.Seen
			for _, one := range s.Receiver.Seen() {
				if one.Source == source {
					seen = append(seen, one)
				}
			}
			require.Len(t, seen, 1)
			require.Equal(t, 1, seen[0].Times)
			if source == "stripe" {
				require.Len(t, s.Mail.Seen(), 1)
				require.Equal(t, 1, s.Mail.Seen()[0].Times)
			}
		})
	}
}

func TestSendReportsForPeople(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	out := clitest.Must(t, s.Args("send", "github", "--times", "3", "--show")...)
	require.Contains(t, out, "POST "+s.URL+"/webhooks/github\n")
	require.Contains(t, out, "X-Hub-Signature-256: sha256=")
	require.Regexp(t, `3 responses: 3 x 2xx; 1 accepted, 2 duplicates; p50 \d+(\.\d)? ms, p99 \d+(\.\d)? ms\n`, out)
	require.Regexp(t, `show it with: hooklatch events show --config \S+/dev.yaml github \S+\n`, out)

	out = clitest.Must(t, s.Args("send", "github", "--times", "3", "--new-ids")...)
	require.Contains(t, out, "3 x 2xx; 3 accepted, 0 duplicates;")
	require.NotContains(t, s.Logs.String(), "its proof was used before", "three events, no replay")
	out = clitest.Must(t, s.Args("send", "stripe", "--id", "evt_mine")...)
	require.Contains(t, out, "1 response: 1 x 2xx; 1 accepted, 0 duplicates;")
	out = clitest.Must(t, s.Args("send", "stripe", "--id", "evt_mine")...)
	require.Contains(t, out, "0 accepted, 1 duplicate;")

	// A refused delivery is shown, and the exit code is 1.
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("send", "github", "--header", "X-GitHub-Delivery=")...))
	require.Contains(t, c.Stdout.String(), "1 response: 1 x 422; 0 accepted, 0 duplicates")
	require.Contains(t, c.Stdout.String(), "  422: {\"error\":")

	c = clitest.Command{}
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("send", "nobody")...))
	require.Contains(t, c.Stderr.String(), `has no source "nobody"; its sources are github, hmac, shopify`)
}

func TestSendWithoutAGatewaySaysWhereItTried(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	require.NoError(t, s.App.Stop(t.Context()))
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("send", "stripe")...))
	require.Equal(t, "hooklatch: no gateway listens at "+s.URL+"/webhooks/stripe; start one with: hooklatch dev\n", c.Stderr.String())
}

// Bodies that break JSON columns, parsers and logs are returned unchanged, and do not disturb other
// events in the same batch.
func TestPoisonComesBackByteForByte(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	bodies := map[string]string{
		"nul":        `{"id":"evt_nul","type":"poison","data":"a\u0000b"}`,
		"surrogate":  `{"id":"evt_surrogate","type":"poison","data":"\ud800 \udfff \ud83d"}`,
		"twice":      `{"id":"evt_twice","type":"poison","data":{"a":1,"a":2,"a":{"a":3,"a":4}}}`,
		"number":     `{"id":"evt_number","type":"poison","data":[1e400,-1E+400,1` + strings.Repeat("0", 400) + `,0.1000,1.0]}`,
		"nested":     `{"id":"evt_nested","type":"poison","data":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		"large":      `{"id":"evt_large","type":"poison","data":"` + strings.Repeat("Grüße 😀 ", 900_000/17) + `"}`,
		"whitespace": " \r\n\t{ \"id\" : \"evt_whitespace\" ,\r\n\"type\":\"poison\" , \"data\" : \"\\u00e4 ä \\/\" }\r\n ",
		"neighbour":  `{"id":"evt_neighbour","type":"fine","data":"fine"}`,
	}
	dir := t.TempDir()
	t.Run("send", func(t *testing.T) {
		for name, body := range bodies {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600))
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				require.Contains(t, clitest.Must(t, s.Args("send", "stripe", filepath.Join(dir, name))...), "1 accepted")
			})
		}
	})
	for name, body := range bodies {
		require.Equal(t, body, clitest.Must(t, s.Args("events", "show", "stripe/evt_"+name, "--raw")...), name)
		s.WaitDone(t, "stripe", "evt_"+name)
	}
	for _, seen := range s.Receiver.Seen() {
		require.Equal(t, len(bodies[strings.TrimPrefix(seen.EventID, "evt_")]), seen.Bytes, seen.EventID)
	}
	require.Len(t, s.Receiver.Seen(), len(bodies))
	// The text output is valid for these bodies, too.
	require.Contains(t, clitest.Must(t, s.Args("events", "list")...), "evt_large")
	require.Contains(t, clitest.Must(t, s.Args("events", "show", "stripe", "evt_nul")...), "dispatched")
}

func TestSlackChallengeStoresNothing(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	slack, err := catalog.New("slack", provider.Options{})
	require.NoError(t, err)
	endpoint, err := url.Parse(s.URL + "/webhooks/slack")
	require.NoError(t, err)
	const body = `{"type":"url_verification","token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}`
	signed := &provider.Request{Method: http.MethodPost, URL: endpoint, Body: []byte(body), Header: http.Header{"Content-Type": {"application/json"}}}
	require.NoError(t, slack.Sign(signed, s.Config.Sources["slack"].Secrets[0].Value, time.Now()))
	r, err := http.NewRequestWithContext(t.Context(), signed.Method, endpoint.String(), strings.NewReader(body))
	require.NoError(t, err)
	r.Header = signed.Header
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", clitest.GetBody(t, response.Body))

	file := filepath.Join(t.TempDir(), "challenge.json")
	require.NoError(t, os.WriteFile(file, []byte(body), 0o600))
	require.Contains(t, clitest.Must(t, s.Args("send", "slack", file)...), "0 accepted, 0 duplicates, 1 without an event;")
	for _, table := range []string{"processed_events", "deliveries", "river_job WHERE kind = 'dispatch'"} {
		require.Zero(t, s.Count(t, "SELECT count(*) FROM hooklatch."+table), table)
	}
}

// A gateway and a worker share only the tables: the worker may start after the gateway has stopped.
func TestGatewayAndWorkerApart(t *testing.T) {
	t.Parallel()
	front := clitest.NewSystem(t, clitest.SystemOptions{NoWorker: true})
	exit, r := front.SendJSON(t, "stripe", "--times", "5")
	require.Zero(t, exit)
	require.Equal(t, 1, r.Accepted)
	var event struct {
		inbox.Event

		Effects []ledger.EventEffect
	}
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, front.Args("events", "show", "stripe", r.EventID, "--json")...)), &event))
	require.Equal(t, inbox.Received, event.Outcome)
	require.Empty(t, event.Effects)
	require.NoError(t, front.App.Stop(t.Context()))

	back := clitest.NewSystem(t, clitest.SystemOptions{Pool: front.Pool, NoGateway: true})
	require.Eventually(t, func() bool {
		code, _ := back.Ready(t)
		return code == http.StatusOK
	}, clitest.Patience, clitest.Tick)
	back.WaitDone(t, "stripe", r.EventID)
	require.Len(t, back.Receiver.Seen(), 1)
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, front.Args("events", "show", "stripe", r.EventID, "--json")...)), &event))
	require.Equal(t, inbox.Dispatched, event.Outcome)
	require.Len(t, event.Effects, 2)
	var events []inbox.Event
	require.NoError(t, json.Unmarshal([]byte(clitest.Must(t, front.Args("events", "list", "--type", "invoice.paid", "--json")...)), &events))
	require.Len(t, events, 1)
}
