package secrecy

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	canary = "canary0secret"
	// forged is an invalid signature. It is stored in the quarantine for later verification, and is
	// shown there.
	forged = "canary1proof"
)

// canaries adds to dev's configuration the kinds of secrets that it lacks, each with a canary.
var canaries = strings.NewReplacer(
	"admin:\n", "admin:\n  token: "+canary+"-admin\n  tokens: [{name: grafana, role: viewer, token: "+canary+"-grafana}]\n"+
		"  console_url: http://localhost\n  auth: {oidc: {issuer: http://127.0.0.1:1, client_id: hooklatch, client_secret: "+canary+"-client}, roles: {viewer: \"true\"}}\n",
	"sources:\n", "alerts: {to: [{destination: letters, recipient: b@example.com}], heartbeat: \"http://127.0.0.1:1/"+canary+"-heartbeat\"}\n\nsources:\n"+
		"  meta: {provider: meta, secrets: "+canary+"-meta, verify_token: "+canary+"-verify}\n",
	"destinations:\n", "destinations:\n  letters: {smtp: {host: 127.0.0.1, from: a@example.com, username: ada, password: "+canary+"-smtp}}\n"+
		"  basic: {http: {url: \"http://127.0.0.1:1/\", basic: {user: ada, password: "+canary+"-basic}}}\n"+
		"  chat: {http: {secret_url: \"http://127.0.0.1:1/"+canary+"-url\"}}\n"+
		"  queue: {nats: {servers: 127.0.0.1:1, subject: events, token: "+canary+"-nats}}\n"+
		"  rabbit: {rabbitmq: {servers: 127.0.0.1:1, routing_key: events, username: ada, password: "+canary+"-rabbit}}\n",
	"routes:\n", "routes:\n  - {name: told, from: stripe, to: chat}\n  - {name: queued, from: stripe, to: queue}\n  - {name: rabbits, from: stripe, to: rabbit}\n  - {name: looked-up, from: stripe, types: [none.such], to: basic, http: {body: event.id}, refetch: {url: '\"http://127.0.0.1:1/\" + event.id', bearer: "+canary+"-refetch}}\n",
)

// No secret appears in logs, metrics, errors, tables or pages (I12).
func TestNoSecretGetsOut(t *testing.T) {
	t.Parallel()
	// Standard Webhooks secrets are Base64: this secret decodes to the canary.
	encoded := "whsec_" + canary + "0aaaaaaaaaaaaaaaaaa"
	s := clitest.NewSystem(t, clitest.SystemOptions{
		YAML: func(settings *cli.DevSettings) string {
			for name := range settings.Secrets {
				settings.Secrets[name] = secret.New(canary + name)
			}
			settings.Secrets["standard-webhooks"] = secret.New(encoded)
			settings.Sign = secret.New(encoded)
			text, err := settings.YAML()
			require.NoError(t, err)
			text = canaries.Replace(text)
			// The breaker is off, because it would prevent attempts.
			return strings.Replace(text, "    http:\n", "    breaker: {off: true}\n    http:\n      bearer: "+canary+"-bearer\n      headers: {X-Api-Key: "+canary+"-header}\n", 1)
		},
		Change: func(cfg *config.Config) { require.Contains(t, cfg.Admin.Token.Reveal(), canary) },
	})
	var outputs []string
	call := func(args ...string) string {
		var c clitest.Command
		c.Run(t.Context(), args...)
		outputs = append(outputs, c.Stdout.String(), c.Stderr.String())
		return c.Stdout.String()
	}
	// The receiver rejects the signatures of effects, because the test replaced their secret. So
	// effects fail with a response.
	for _, source := range cli.DevSourceNames() {
		call(s.Args("send", source, "--show")...)
		call(s.Args("send", source, "--header", "Authorization=Bearer "+canary+"-inbound", "--header", "Cookie="+canary+"-cookie")...)
	}
	require.Eventually(t, func() bool {
		return s.Counts(t, 0, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`) &&
			s.Counts(t, 0, `SELECT count(*) FROM hooklatch.effects WHERE attempt = 0 OR state = 'started'`)
	}, clitest.Patience, clitest.Tick)
	// Send a bad signature.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhooks/stripe?token="+canary, strings.NewReader("{}"))
	require.NoError(t, err)
	r.Close = true
	r.Header.Set("Stripe-Signature", "t=1,v1="+forged)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	outputs = append(outputs, clitest.GetBody(t, response.Body))

	for _, args := range [][]string{{"events", "list"}, {"events", "list", "--json"}, {"effects", "list", "--json"}, {"check"}, {"check", "--json"}, {"migrate", "status"}} {
		call(s.Args(args...)...)
	}
	call("check", "--database-url", "postgres://u:"+canary+"@127.0.0.1:1/x?sslmode=disable", "--config", s.ConfigPath)
	call("events", "list", "--database-url", "postgres://u:"+canary+"@127.0.0.1:notaport/x")
	call("events", "list", "--database-url", "host=127.0.0.1 password="+canary+" port=none")
	brokenConfigs(t, s, call)

	for _, path := range []string{"/", "/metrics", "/api/", "/readyz", "/healthz", "/login", "/auth/oidc", "/auth/callback"} {
		for _, token := range []string{"", s.Config.Admin.Token.Reveal()} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Admin+path, nil)
			require.NoError(t, err)
			r.Close = true
			r.Header.Set("Authorization", "Bearer "+token)
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			outputs = append(outputs, clitest.GetBody(t, response.Body))
		}
	}
	require.Eventually(t, func() bool { return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.rejected_deliveries`) }, clitest.Patience, clitest.Tick)
	var key string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT idempotency_key FROM hooklatch.effects WHERE state = 'pending' LIMIT 1`).Scan(&key))
	for _, path := range []string{"/destinations/app/pause", "/effects/" + key + "/park", "/effects/" + key + "/cancel", "/effects/" + key + "/retry", "/quarantine/verify", "/destinations/app/resume"} {
		status, _, told := s.Ask(t, http.MethodPost, "/api"+path, `{"reason": "as a test"}`)
		require.Equal(t, http.StatusOK, status, told)
		outputs = append(outputs, told)
	}
	outputs = append(outputs, s.SignIn(t, canary+"-grafana"), s.SignIn(t, canary))
	outputs = append(outputs, crawl(t, s, s.Config.Admin.Token.Reveal())...)
	for _, query := range []string{
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.effects AS t`,
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.all_attempts AS t`,
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.processed_events AS t`,
		`SELECT COALESCE(string_agg(t.headers::text, ' '), '') FROM hooklatch.deliveries AS t`,
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.river_job AS t`,
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.destinations AS t`,
		`SELECT string_agg(t::text, ' ') FROM hooklatch.console_logins AS t`,
	} {
		var text string
		require.NoError(t, s.Pool.QueryRow(t.Context(), query).Scan(&text))
		outputs = append(outputs, text)
	}
	require.NoError(t, s.App.Stop(t.Context()))
	logs := s.Logs.String()
	require.Contains(t, logs, "event accepted")
	require.NotContains(t, logs, forged)
	for _, output := range append(outputs, logs) {
		at := strings.Index(output, canary)
		if at >= 0 {
			require.Fail(t, "a secret got out", output[max(0, at-200):min(len(output), at+200)])
		}
	}
}

// brokenConfigs runs commands with broken configurations, whose errors are the most likely to
// contain secrets.
func brokenConfigs(t *testing.T, s *clitest.System, call func(args ...string) string) {
	t.Helper()
	text, err := os.ReadFile(s.ConfigPath)
	require.NoError(t, err)
	for _, change := range [][2]string{
		{"provider: standard-webhooks\n    secrets: [\"", "provider: standard-webhooks\n    secrets: [\"!"},
		{"secrets:", "secret:"},
		{"secrets: [", "secrets: [[["},
		{"standard_webhooks: [\"", "standard_webhooks: [\"whsec_!"},
		{"bearer: ", "bearer: [], "},
	} {
		broken := t.TempDir() + "/broken.yaml"
		require.Contains(t, string(text), change[0])
		require.NoError(t, os.WriteFile(broken, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600))
		call("check", "--config", broken)
		call("serve", "--config", broken)
	}
}
