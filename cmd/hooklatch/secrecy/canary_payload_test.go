package secrecy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// private is in every value of the test event, except id, type and object.
const private = "canary2payload"

// failures contains routes that each fail on an event value in a different way.
const failures = `routes:
  - {name: condition, from: stripe, types: [order.made], when: int(body.name) > 0, to: echo}
  - {name: no-key, from: stripe, types: [order.made], key: body.name.missing, to: echo}
  - {name: no-order, from: stripe, types: [order.made], order_by: int(body.name), to: echo}
  - {name: no-version, from: stripe, types: [order.made], latest_by: 'body[body.name]', to: echo}
  - {name: expression, from: stripe, types: [order.made], to: echo, http: {body: '{"at": timestamp(body.name)}'}}
  - {name: header, from: stripe, types: [order.made], to: echo, http: {headers: {X-Name: 'body.name + "\n"'}}}
  - {name: method, from: stripe, types: [order.made], to: echo, http: {url: '"ftp://" + body.name'}}
  - {name: template, from: stripe, types: [order.made], to: mail, email: {recipient: '"a@example.com"', subject: '{{ .body.name.missing }}', text: x}}
  - {name: format, from: stripe, types: [order.made], to: mail, email: {recipient: '"a@example.com"', subject: '{{ printf "%d" .body.name }}', text: x}}
  - {name: recipient, from: stripe, types: [order.made], to: mail, email: {recipient: body.name, subject: x, text: x}}
  - {name: nowhere, from: stripe, types: [order.made], to: echo, http: {url: '"https://" + body.name + ".invalid/"'}}
  - {name: refused, from: stripe, types: [order.made], to: echo}
  - {name: unread, from: stripe, types: [order.made], to: echo, refetch: {url: '"ECHO/" + body.name'}, http: {body: current.name}}
  - {name: cast, from: stripe, types: [order.made], to: books, sql: {statement: cast, params: [body.name]}}
  - {name: twice, from: stripe, types: [order.made], to: books, sql: {statement: insert, params: [body.name]}}
  - {name: raised, from: stripe, types: [order.made], to: books, sql: {statement: raise, params: [body.name]}}
  - {name: nobody, from: stripe, types: [order.made], to: post, email: {recipient: 'body.name + "@example.com"', subject: x, text: x}}
`

// namesTable creates the table and the function that the statements of failing need.
const namesTable = `
	CREATE TABLE public.names (name text PRIMARY KEY);
	INSERT INTO public.names VALUES ('` + private + `');
	CREATE FUNCTION public.complain(name text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		RAISE EXCEPTION 'nobody is called %', name USING DETAIL = name, HINT = name;
	END $$`

// failing adds the routes of failures to a configuration, with their destinations.
func failing(text, echo string) string {
	return strings.NewReplacer(
		"destinations:\n", "destinations:\n  echo: {http: {url: \""+echo+"\"}, retry_on: [], breaker: {off: true}, retry: {max_attempts: 1}}\n"+
			"  post: {smtp: {host: 127.0.0.1, port: 1, from: a@example.com, tls: none}, retry: {max_attempts: 1}}\n"+
			"  books: {sql: {statements: {cast: \"SELECT $1::text::integer\", insert: \"INSERT INTO public.names VALUES ($1)\", raise: \"SELECT public.complain($1)\"}}, retry: {max_attempts: 1}}\n",
		"routes:\n", strings.ReplaceAll(failures, "ECHO", echo),
	).Replace(text)
}

// repeating is a receiver that fails, and repeats values of the event in every part of its
// response.
func repeating(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Echo", private)
	if r.Method == http.MethodGet {
		_, _ = w.Write([]byte(`{"name": ` + private))
		return
	}
	w.WriteHeader(http.StatusUnprocessableEntity)
	_, _ = w.Write(append([]byte("I do not know "+private+": "), body...))
}

// failEverywhere sends an event with the private value, and waits until every route has failed.
func failEverywhere(t *testing.T, s *clitest.System, flags ...string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"id": "evt_1", "type": "order.made", "object": "event", "name": private, "data": map[string]any{"object": map[string]any{"id": private, "mail": private + "@example.com"}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "event.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	clitest.Must(t, s.Args(append([]string{"send", "stripe", file}, flags...)...)...)
	require.Eventually(t, func() bool {
		return s.Counts(t, strings.Count(failures, "- {name"), `SELECT count(*) FROM hooklatch.effects WHERE state IN ('parked', 'failed')`)
	}, clitest.Patience, clitest.Tick)
}

// A viewer without access to payloads sees no payload value, whatever failed. This holds for pages,
// API responses, metrics, logs, checks and alerts.
func TestNoPayloadGetsToWhoMayNotSeeIt(t *testing.T) {
	t.Parallel()
	told := make(chan string, 100)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/alert" {
			body, _ := io.ReadAll(r.Body)
			told <- string(body)
			return
		}
		repeating(w, r)
	}))
	t.Cleanup(echo.Close)
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), namesTable)
	require.NoError(t, err)
	const viewer = "viewer-token-of-vera"
	s := clitest.NewSystem(t, clitest.SystemOptions{Pool: pool, YAML: func(settings *cli.DevSettings) string {
		text, err := settings.YAML()
		require.NoError(t, err)
		return strings.NewReplacer(
			"admin:\n", "admin:\n  token: token-of-the-test\n  tokens: [{name: vera, role: viewer, token: "+viewer+"}]\n  auth: {payloads: operator}\n",
			"sources:\n", "alerts: {to: [{destination: ops}], for: 1ms}\n\nsources:\n",
			"destinations:\n", "destinations:\n  ops: {http: {url: \""+echo.URL+"/alert\"}}\n",
		).Replace(failing(text, echo.URL))
	}})
	failEverywhere(t, s, "--header", "X-Name="+private)
	// Create a refused delivery and a bulk run, which also contain the private value.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhooks/stripe", strings.NewReader(private))
	require.NoError(t, err)
	r.Header.Set("Stripe-Signature", "t=1,v1=00")
	r.Header.Set("X-Name", private)
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.Eventually(t, func() bool { return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.rejected_deliveries`) }, clitest.Patience, clitest.Tick)
	clitest.Must(t, s.Args("effects", "retry", "--state", "failed", "--when", "body.name == '"+private+"'", "--yes")...)

	outputs := crawl(t, s, viewer)
	paths := []string{"/metrics", "/readyz", "/api/openapi.json", "/events/stripe/evt_1/raw", "/events?when=body.name.size()>0"}
	var keys []string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT array_agg(idempotency_key) FROM hooklatch.effects`).Scan(&keys))
	for _, key := range keys {
		paths = append(paths, "/effects/"+key+"/body", "/effects/"+key+"/curl")
	}
	for _, path := range paths {
		_, _, page := s.AskWith(t, viewer, http.MethodGet, path, "")
		outputs = append(outputs, page)
	}
	require.Eventually(t, func() bool { return len(told) > 0 }, clitest.Patience, clitest.Tick, "no alert about the parked effects was sent")
	for len(told) > 0 {
		outputs = append(outputs, <-told)
	}
	for _, args := range [][]string{{"check"}, {"check", "--json"}, {"status"}, {"status", "--json"}} {
		var c clitest.Command
		c.Run(t.Context(), s.Args(args...)...)
		outputs = append(outputs, c.Stdout.String()+c.Stderr.String())
	}
	require.NoError(t, s.App.Stop(t.Context()))
	for _, output := range append(outputs, s.Logs.String()) {
		if at := strings.Index(output, private); at >= 0 {
			require.Fail(t, "a payload got out", output[max(0, at-300):min(len(output), at+300)])
		}
	}
}
