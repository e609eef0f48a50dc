package secrecy

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// crawlArguments returns the arguments of the calls for every MCP tool, by the tool's name.
func crawlArguments(t *testing.T, s *clitest.System) map[string][]map[string]any {
	t.Helper()
	var keys []string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT array_agg(idempotency_key ORDER BY effect_id) FROM hooklatch.effects`).Scan(&keys))
	var refused string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT min(rejection_id::text) FROM hooklatch.rejected_deliveries`).Scan(&refused))
	named := func(argument string, values ...string) (calls []map[string]any) {
		for _, value := range values {
			calls = append(calls, map[string]any{argument: value, "reason": "as a test"})
		}
		return calls
	}
	reading := func(calls []map[string]any) []map[string]any {
		calls = slices.Clone(calls)
		for i := range calls {
			calls[i] = maps.Clone(calls[i])
			delete(calls[i], "reason")
		}
		return calls
	}
	effects, some := named("key", keys...), named("key", keys[0], keys[len(keys)-1])
	destinations, sources := named("name", "echo", "mail", "books", "post", "letters", "chat", "basic"), named("name", "stripe", "meta")
	event := []map[string]any{{"source": "stripe", "id": "evt_1", "reason": "as a test"}}
	run := []map[string]any{{"id": 1, "reason": "as a test"}}
	paced := []map[string]any{{"id": 1, "pace": 5, "reason": "as a test"}}
	part := private[:len(private)-1] // not the whole value, because a tool may repeat its arguments
	when := "body.name.startsWith('" + part + "')"
	return map[string][]map[string]any{
		"overview": {{}}, "numbers": {{}, {"source": "stripe"}, {"destination": "echo"}, {"span": "week"}},
		"find":        {{"q": "evt_1"}, {"q": keys[0]}, {"q": part}, {"q": "echo"}, {"q": refused}},
		"list_events": {{}, {"source": "stripe", "limit": 50}, {"contains": part}, {"when": when}, {"state": "failed"}},
		"event":       reading(event), "event_body": reading(event),
		"list_effects": {{}, {"limit": 50}, {"state": "failed"}, {"state": "parked"}, {"contains": part}, {"when": when}},
		"effect":       reading(effects), "effect_body": reading(effects),
		"list_runs": {{}}, "run": reading(run), "preview_run": {{"of": "events", "when": when}, {"of": "effects", "state": "failed"}},
		"list_actions": {{}, {"limit": 50}}, "list_quarantine": {{}, {"source": "stripe"}}, "refused": {{"id": refused}},
		"list_destinations": {{}}, "destination": reading(destinations),
		"list_sources": {{}}, "source": reading(sources),
		"list_routes": {{}}, "route": {{"name": "condition"}, {"name": "looked-up"}, {"name": "unread"}},
		"try_route": {
			{"source": "stripe", "event": "evt_1", "route": "{name: try, from: stripe, to: echo, http: {body: body.name}}"},
			{"source": "stripe", "event": "evt_1", "route": "{name: try, from: stripe, to: echo, when: 'int(body.name) > 0'}"},
			{"source": "stripe", "route": "{name: try, from: stripe, to: echo, http: {body: body.name}}"},
		},

		"backfill_source": sources, "send_event": sources,
		"begin_run": {{"of": "effects", "action": "retry", "state": "failed", "when": when, "reason": "as a test"}},
		"pause_run": run, "resume_run": run, "pace_run": paced, "stop_run": run,
		"pause_destination": destinations, "probe_destination": destinations, "resume_destination": destinations,
		"park_effect": effects, "retry_effect": some, "cancel_effect": some, "resend_effect": some,
		"replay_event": event, "release_event": event, "drop_event": event,
		"verify_refused": {{"id": refused, "reason": "as a test"}}, "verify_quarantine": {{"source": "stripe", "operator_reason": "as a test"}},
	}
}

var cutAt = regexp.MustCompile(`result_from[^0-9]{1,10}([0-9]+)`)

// crawl calls every tool and returns everything that the client sees: the results, the descriptions
// of the server and its tools, and stderr. It fails if a tool has no calls.
func (a *assistant) crawl(t *testing.T, calls map[string][]map[string]any) (seen []string) {
	t.Helper()
	tools := a.tools(t)
	require.ElementsMatch(t, slices.Collect(maps.Keys(tools)), slices.Collect(maps.Keys(calls)), "every tool has calls")
	names := slices.Sorted(maps.Keys(tools))
	slices.SortStableFunc(names, func(a, b string) int { // tools that only read are called first
		order := func(name string) int {
			if tools[name].Annotations.ReadOnlyHint {
				return 0
			}
			return 1
		}
		return order(a) - order(b)
	})
	answered := map[string]bool{}
	for _, name := range append(names, names...) { // all tools are called again after the changes
		for _, arguments := range calls[name] {
			arguments = maps.Clone(arguments)
			for {
				text, failed := a.call(t, name, arguments)
				seen = append(seen, text)
				answered[name] = answered[name] || !failed
				more := cutAt.FindStringSubmatch(text)
				if failed || more == nil || arguments["result_from"] != nil && !tools[name].Annotations.ReadOnlyHint {
					break
				}
				from, err := strconv.Atoi(more[1])
				require.NoError(t, err)
				arguments["result_from"] = from
			}
		}
	}
	for _, name := range []string{"overview", "event", "effect", "route", "source", "destination", "refused", "list_events", "list_quarantine"} {
		require.True(t, answered[name], "%s never succeeded", name)
	}
	for _, described := range []any{a.InitializeResult(), tools} {
		text, err := json.Marshal(described)
		require.NoError(t, err)
		seen = append(seen, string(text))
	}
	return append(seen, a.stderr.String())
}

// No MCP tool returns a secret, whatever the role of the token. Only an admin's token gets the
// values that the console masks. The test calls all tools, including those that change something,
// with routes that fail on the masked values.
func TestNoSecretAndNoMaskedValueGetsOutOfMCP(t *testing.T) {
	t.Parallel()
	echo := httptest.NewServer(http.HandlerFunc(repeating))
	t.Cleanup(echo.Close)
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), namesTable)
	require.NoError(t, err)
	roles := []string{"viewer", "operator", "admin"}
	s := clitest.NewSystem(t, clitest.SystemOptions{
		Pool: pool,
		YAML: func(settings *cli.DevSettings) string {
			for name := range settings.Secrets {
				settings.Secrets[name] = secret.New(canary + name)
			}
			settings.Secrets["standard-webhooks"] = secret.New("whsec_" + canary + "0aaaaaaaaaaaaaaaaaa")
			text, err := settings.YAML()
			require.NoError(t, err)
			return failing(canaries.Replace(text), echo.URL)
		},
		Change: func(cfg *config.Config) {
			for _, role := range roles {
				cfg.Admin.Tokens = append(cfg.Admin.Tokens, config.AdminToken{Name: "agent-" + role, Role: role, Token: secret.New(canary + "-agent-" + role)})
			}
			cfg.Admin.Console.Mask = map[string][]string{"stripe": {"/name", "/data"}}
		},
	})
	failEverywhere(t, s)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhooks/stripe", strings.NewReader(`{"name": "`+private+`"}`))
	require.NoError(t, err)
	r.Close = true
	r.Header.Set("Stripe-Signature", "t=1,v1=00")
	r.Header.Set("Authorization", "Bearer "+canary+"-inbound")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Eventually(t, func() bool { return s.Counts(t, 1, `SELECT count(*) FROM hooklatch.rejected_deliveries`) }, clitest.Patience, clitest.Tick)
	clitest.Must(t, s.Args("effects", "retry", "--state", "failed", "--when", "body.name == '"+private+"'", "--yes")...)

	as := func(role string, args ...string) []string {
		file := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(file, []byte(canary+"-agent-"+role), 0o600))
		return append([]string{"mcp", "--url", s.Admin, "--token-file", file}, args...)
	}
	var wrong clitest.Command
	require.Equal(t, cli.ExitMisused, wrong.Run(t.Context(), as("viewer", "--allow", "none")...))
	_, allowed, _ := strings.Cut(strings.SplitN(wrong.Stderr.String(), "\n", 2)[0], "allowed: ")
	calls := crawlArguments(t, s)
	for _, role := range roles {
		a := assist(t, as(role, "--allow", strings.ReplaceAll(allowed, ", ", ","))...)
		got := 0
		for _, text := range a.crawl(t, calls) {
			if at := strings.Index(text, canary); at >= 0 {
				require.Fail(t, "a secret got out", "%s: %s", role, text[max(0, at-300):min(len(text), at+300)])
			}
			if at := strings.Index(text, private); at >= 0 {
				got++
				if role != "admin" {
					require.Fail(t, "a masked value got out", "%s: %s", role, text[max(0, at-300):min(len(text), at+300)])
				}
			}
		}
		if role == "admin" {
			require.Positive(t, got, "an admin sees the value, so the crawl would find it")
		}
	}
}
