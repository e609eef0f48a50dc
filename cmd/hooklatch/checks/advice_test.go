package checks

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

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
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
func carryOut(t *testing.T, s *clitest.System, f doctor.Finding) {
	t.Helper()
	_, advised, found := strings.Cut(f.Fix, "run: ")
	require.True(t, found, f.Fix)
	advised, _, _ = strings.Cut(advised, "; to delete unwanted deliveries")
	for _, words := range printed(advised) {
		if len(words) < 3 || words[0] == "destinations" {
			clitest.Must(t, s.Args(words...)...)
			continue
		}
		preview := clitest.Must(t, s.Args(words...)...)
		require.NotRegexp(t, `(?m)^0 \w+ selected`, preview, strings.Join(words, " "))
		next := append(words, "--yes")
		if !strings.Contains(preview, "with the same command and --yes") {
			next = printed(preview)[0]
		}
		require.Contains(t, next, "--yes")
		clitest.Must(t, s.Args(next...)...)
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

// receiving returns a function that takes the name of an event field. The result of that function
// writes a configuration with three routes to the receiver at url, one of which reads the field.
func receiving(url string) func(field string) func(*cli.DevSettings) string {
	return func(field string) func(*cli.DevSettings) string {
		return func(settings *cli.DevSettings) string {
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
`, firstrun.Scalar(settings.Database.Reveal()), firstrun.Scalar("whsec_of-this-endpoint"), url, field)
		}
	}
}

// Each command that check prints for effects that need attention works. Such effects are failed,
// are in doubt, or could not be rendered.
func TestPrintedCommandsSetEffectsGoing(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	configured := receiving(refusing(t, &healed))
	wrong := clitest.NewSystem(t, clitest.SystemOptions{YAML: configured("typo")})
	clitest.Must(t, wrong.Args("send", "stripe", "--id", "evt_1")...)
	const aside = `SELECT count(*) FROM hooklatch.effects WHERE state IN ('failed', 'parked')`
	require.Eventually(t, func() bool { return wrong.Counts(t, 3, aside) }, clitest.Patience, clitest.Tick)
	require.NoError(t, wrong.App.Stop(t.Context()))

	healed.Store(true)
	right := clitest.NewSystem(t, clitest.SystemOptions{Pool: wrong.Pool, YAML: configured("id")})
	_, found := clitest.RunCheck(t, right.Args()...)
	findings := append(found.Of("effects_failed"), found.Of("effects_parked")...)
	require.Len(t, findings, 3)
	for _, f := range findings {
		require.Equal(t, doctor.Warning, f.Level)
		carryOut(t, right, f)
	}
	require.Eventually(t, func() bool {
		return right.Counts(t, 3, `SELECT count(*) FROM hooklatch.effects WHERE state = 'done'`)
	}, clitest.Patience, clitest.Tick)
	require.True(t, right.Counts(t, 3, `SELECT count(*) FROM hooklatch.effects`), "no effect was created twice")
	_, found = clitest.RunCheck(t, right.Args()...)
	require.Empty(t, found.Of("effects_failed"))
	require.Empty(t, found.Of("effects_parked"))
}
