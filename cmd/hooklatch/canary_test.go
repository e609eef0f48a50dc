package main

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const canary = "canary0secret"

// No secret is in logs, traces, metrics, errors, tables or pages (I12).
func TestNoSecretGetsOut(t *testing.T) {
	t.Parallel()
	// Standard Webhooks secrets are Base64: this one spells the canary.
	encoded := "whsec_" + canary + "0aaaaaaaaaaaaaaaaaa"
	s := newSystem(t, systemOptions{
		yaml: func(settings *devSettings) string {
			for name := range settings.secrets {
				settings.secrets[name] = secret.New(canary + name)
			}
			settings.secrets["standard-webhooks"] = secret.New(encoded)
			settings.sign = secret.New(encoded)
			text, err := settings.yaml()
			require.NoError(t, err)
			text = strings.Replace(text, "admin:\n", "admin:\n  token: "+canary+"-admin\n  tokens: [{name: grafana, role: viewer, token: "+canary+"-grafana}]\n", 1)
			// Without its breaker, which would keep effects from being tried and refused.
			return strings.Replace(text, "    http:\n", "    breaker: {off: true}\n    http:\n      bearer: "+canary+"-bearer\n      headers: {X-Api-Key: "+canary+"-header}\n", 1)
		},
		change: func(cfg *config.Config) { require.Contains(t, cfg.Admin.Token.Reveal(), canary) },
	})
	var outputs []string
	call := func(args ...string) string {
		var c command
		c.run(t.Context(), args...)
		outputs = append(outputs, c.stdout.String(), c.stderr.String())
		return c.stdout.String()
	}
	// The receiver refuses these signatures: effects end as failed, with an answer.
	for _, source := range devSourceNames() {
		call(s.args("send", source, "--show")...)
		call(s.args("send", source, "--header", "Authorization=Bearer "+canary+"-inbound", "--header", "Cookie="+canary+"-cookie")...)
	}
	require.Eventually(t, func() bool {
		return s.counts(t, 0, `SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received'`) &&
			s.counts(t, 0, `SELECT count(*) FROM hooklatch.effects WHERE attempt = 0 OR state = 'started'`)
	}, patience, tick)
	// A bad signature.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/webhooks/stripe?token="+canary, strings.NewReader("{}"))
	require.NoError(t, err)
	r.Close = true
	r.Header.Set("Stripe-Signature", "t=1,v1="+canary)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	outputs = append(outputs, getBody(t, response.Body))

	for _, args := range [][]string{{"events", "list"}, {"events", "list", "--json"}, {"effects", "list", "--json"}, {"check"}, {"check", "--json"}, {"migrate", "status"}} {
		call(s.args(args...)...)
	}
	call("check", "--database-url", "postgres://u:"+canary+"@127.0.0.1:1/x?sslmode=disable", "--config", s.configPath)
	call("events", "list", "--database-url", "postgres://u:"+canary+"@127.0.0.1:notaport/x")
	call("events", "list", "--database-url", "host=127.0.0.1 password="+canary+" port=none")
	s.brokenConfigs(t, call)

	for _, path := range []string{"/", "/metrics", "/api/", "/readyz", "/healthz"} {
		for _, token := range []string{"", s.config.Admin.Token.Reveal()} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+path, nil)
			require.NoError(t, err)
			r.Close = true
			r.Header.Set("Authorization", "Bearer "+token)
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			outputs = append(outputs, getBody(t, response.Body))
		}
	}
	outputs = append(outputs, s.crawl(t)...)
	for _, query := range []string{
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.effects AS t`,
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.all_attempts AS t`,
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.processed_events AS t`,
		`SELECT COALESCE(string_agg(t.headers::text, ' '), '') FROM hooklatch.deliveries AS t`,
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.river_job AS t`,
		`SELECT COALESCE(string_agg(t::text, ' '), '') FROM hooklatch.destinations AS t`,
	} {
		var text string
		require.NoError(t, s.pool.QueryRow(t.Context(), query).Scan(&text))
		outputs = append(outputs, text)
	}
	require.NoError(t, s.app.Stop(t.Context()))
	logs := s.logs.String()
	require.Contains(t, logs, "event accepted")
	for _, output := range append(outputs, logs) {
		at := strings.Index(output, canary)
		if at >= 0 {
			require.Fail(t, "a secret got out", output[max(0, at-200):min(len(output), at+200)])
		}
	}
}

var links = regexp.MustCompile(`href="([^"#]+)"`)

// crawl fetches what jobs link to, and every page that the console leads to.
func (s *system) crawl(t *testing.T) (pages []string) {
	t.Helper()
	var next []string
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT array_agg(DISTINCT linked.url)
		FROM hooklatch.river_job AS j
		CROSS JOIN LATERAL (VALUES (j.metadata ->> 'event_url'), (j.metadata ->> 'effect_url')) AS linked (url)
		WHERE linked.url IS NOT NULL`).Scan(&next))
	next = append(next, "/", "/events", "/effects?state=failed")
	seen := map[string]bool{}
	for len(next) > 0 {
		at, err := url.Parse(next[0])
		require.NoError(t, err)
		next = next[1:]
		path := at.RequestURI() // whatever the host: the listener has a port of the test
		if seen[path] || at.Scheme == "data" {
			continue
		}
		seen[path] = true
		require.Less(t, len(seen), 1_000)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+path, nil)
		require.NoError(t, err)
		r.Close = true
		r.SetBasicAuth("ada", s.config.Admin.Token.Reveal())
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		page := getBody(t, response.Body)
		pages = append(pages, page)
		if strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
			for _, link := range links.FindAllStringSubmatch(page, -1) {
				to, err := at.Parse(html.UnescapeString(link[1]))
				require.NoError(t, err)
				if to.Host == at.Host { // not the pages of senders
					next = append(next, to.String())
				}
			}
		}
	}
	require.Greater(t, len(pages), 20)
	return pages
}

// brokenConfigs makes the errors that are nearest to secrets.
func (s *system) brokenConfigs(t *testing.T, call func(args ...string) string) {
	t.Helper()
	text, err := os.ReadFile(s.configPath)
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
