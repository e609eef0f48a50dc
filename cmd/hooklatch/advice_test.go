package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// printed returns the commands in a printed text, as lists of arguments.
func printed(text string) (commands [][]string) {
	for _, one := range regexp.MustCompile(`(?m)hooklatch ((?:effects|events|destinations|quarantine|repair) [^;\n]*)`).FindAllStringSubmatch(text, -1) {
		words := strings.Fields(one[1])
		for i, word := range words {
			words[i] = strings.Trim(word, "'`,")
		}
		commands = append(commands, words)
	}
	return commands
}

// carryOut runs the commands of a finding as an operator does: the preview first, then the command
// that it prints. The command that deletes unwanted deliveries is left out.
func carryOut(t *testing.T, s *system, f doctor.Finding) {
	t.Helper()
	_, advised, found := strings.Cut(f.Fix, "run: ")
	require.True(t, found, f.Fix)
	advised, _, _ = strings.Cut(advised, "; to delete unwanted deliveries")
	for _, words := range printed(advised) {
		if len(words) < 3 || words[0] == "destinations" {
			must(t, s.args(words...)...)
			continue
		}
		preview := must(t, s.args(words...)...)
		require.NotRegexp(t, `(?m)^0 \w+ selected`, preview, strings.Join(words, " "))
		next := append(words, "--yes")
		if !strings.Contains(preview, "with the same command and --yes") {
			next = printed(preview)[0]
		}
		require.Contains(t, next, "--yes")
		must(t, s.args(next...)...)
	}
}

// refusing returns the URL of a receiver that answers 400, and 500 at /bank, until healed is true.
func refusing(t *testing.T, healed *atomic.Bool) string {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case healed.Load():
		case r.URL.Path == "/bank":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(receiver.Close)
	return receiver.URL
}

// receiving returns a function that takes the name of an event field, and returns the configuration
// of three routes to the receiver at url. One of the routes reads the field.
func receiving(url string) func(field string) func(*devSettings) string {
	return func(field string) func(*devSettings) string {
		return func(settings *devSettings) string {
			return fmt.Sprintf(`
database: {url: %s}
gateway: {listen: "127.0.0.1:0"}
admin: {listen: "localhost:0"}
sources: {stripe: {provider: stripe, secrets: [%s]}}
destinations:
  app: {http: {url: "%[3]s/app"}}
  bank: {http: {url: "%[3]s/bank"}, policy: at_most_once, breaker: {off: true}}
  slack: {http: {url: "%[3]s/slack"}}
routes:
  - {name: app, from: stripe, to: app}
  - {name: bank, from: stripe, to: bank}
  - {name: slack, from: stripe, to: slack, http: {body: '{"text": body.%[4]s}'}}
`, scalar(settings.database.Reveal()), scalar("whsec_of-this-endpoint"), url, field)
		}
	}
}

// Each command that check prints for effects that need attention works: for failed effects, for
// effects in doubt and for effects that could not be rendered.
func TestPrintedCommandsSetEffectsGoing(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	configured := receiving(refusing(t, &healed))
	wrong := newSystem(t, systemOptions{yaml: configured("typo")})
	must(t, wrong.args("send", "stripe", "--id", "evt_1")...)
	const aside = `SELECT count(*) FROM hooklatch.effects WHERE state IN ('failed', 'parked')`
	require.Eventually(t, func() bool { return wrong.counts(t, 3, aside) }, patience, tick)
	require.NoError(t, wrong.app.Stop(t.Context()))

	healed.Store(true)
	right := newSystem(t, systemOptions{pool: wrong.pool, yaml: configured("id")})
	_, found := runCheck(t, right.args()...)
	findings := append(found.of("effects_failed"), found.of("effects_parked")...)
	require.Len(t, findings, 3)
	for _, f := range findings {
		require.Equal(t, doctor.Warning, f.Level)
		carryOut(t, right, f)
	}
	require.Eventually(t, func() bool {
		return right.counts(t, 3, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	}, patience, tick)
	require.True(t, right.counts(t, 3, `SELECT count(*) FROM hooklatch.effects`), "no effect was created twice")
	_, found = runCheck(t, right.args()...)
	require.Empty(t, found.of("effects_failed"))
	require.Empty(t, found.of("effects_parked"))
}
